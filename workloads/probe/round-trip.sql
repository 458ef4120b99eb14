/* nothing: the way there and back */;
