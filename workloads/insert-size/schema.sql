create table data(filler text);
