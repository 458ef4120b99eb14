\set customer {{any_customer}}
{{include customer.sql}};
