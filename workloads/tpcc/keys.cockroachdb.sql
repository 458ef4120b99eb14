-- The primary keys are in the schema. Through 20.1 the columns of a foreign key need an index.
\if :fks
CREATE INDEX history_customer_idx ON history (h_c_w_id, h_c_d_id, h_c_id);
CREATE INDEX history_district_idx ON history (h_w_id, h_d_id);
CREATE INDEX order_line_stock_idx ON order_line (ol_supply_w_id, ol_i_id);
CREATE INDEX stock_item_idx ON stock (s_i_id);
\endif
{{include indexes.sql}}
