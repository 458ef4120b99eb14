//! Naming a server by libpq's conventions, and one blocking conversation with it for administration.
