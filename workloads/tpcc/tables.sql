-- The nine tables of TPC-C, with its names and exact numbers for money. `keys` says whether the primary keys
-- stand here or come when the rows are in.
CREATE TABLE warehouse (
  w_id int NOT NULL, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20),
  w_state char(2), w_zip char(9), w_tax decimal(4,4) NOT NULL, w_ytd decimal(12,2) NOT NULL{{if :keys = 1}},
  PRIMARY KEY (w_id){{end}});
CREATE TABLE district (
  d_id int NOT NULL, d_w_id int NOT NULL, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20),
  d_city varchar(20), d_state char(2), d_zip char(9), d_tax decimal(4,4) NOT NULL, d_ytd decimal(12,2) NOT NULL,
  d_next_o_id int NOT NULL{{if :keys = 1}},
  PRIMARY KEY (d_w_id, d_id){{end}});
CREATE TABLE customer (
  c_id int NOT NULL, c_d_id int NOT NULL, c_w_id int NOT NULL, c_first varchar(16), c_middle char(2),
  c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2),
  c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim decimal(12,2),
  c_discount decimal(4,4), c_balance decimal(12,2) NOT NULL, c_ytd_payment decimal(12,2) NOT NULL,
  c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL, c_data varchar(500){{if :keys = 1}},
  PRIMARY KEY (c_w_id, c_d_id, c_id){{end}});
CREATE TABLE history (
  h_c_id int NOT NULL, h_c_d_id int NOT NULL, h_c_w_id int NOT NULL, h_d_id int NOT NULL, h_w_id int NOT NULL,
  h_date timestamp, h_amount decimal(6,2) NOT NULL, h_data varchar(24));
CREATE TABLE orders (
  o_id int NOT NULL, o_d_id int NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL, o_entry_d timestamp,
  o_carrier_id int, o_ol_cnt int NOT NULL, o_all_local int NOT NULL{{if :keys = 1}},
  PRIMARY KEY (o_w_id, o_d_id, o_id){{end}});
CREATE TABLE new_order (
  no_o_id int NOT NULL, no_d_id int NOT NULL, no_w_id int NOT NULL{{if :keys = 1}},
  PRIMARY KEY (no_w_id, no_d_id, no_o_id){{end}});
CREATE TABLE order_line (
  ol_o_id int NOT NULL, ol_d_id int NOT NULL, ol_w_id int NOT NULL, ol_number int NOT NULL, ol_i_id int NOT NULL,
  ol_supply_w_id int NOT NULL, ol_delivery_d timestamp, ol_quantity int NOT NULL, ol_amount decimal(6,2) NOT NULL,
  ol_dist_info char(24){{if :keys = 1}},
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number){{end}});
CREATE TABLE item (
  i_id int NOT NULL, i_im_id int, i_name varchar(24), i_price decimal(5,2) NOT NULL, i_data varchar(50){{if :keys = 1}},
  PRIMARY KEY (i_id){{end}});
CREATE TABLE stock (
  s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity int NOT NULL,{{for i 1 10}} s_dist_{{if :i < 10}}0{{end}}{{i}} char(24),{{end}}
  s_ytd decimal(8,0) NOT NULL, s_order_cnt int NOT NULL, s_remote_cnt int NOT NULL, s_data varchar(50){{if :keys = 1}},
  PRIMARY KEY (s_w_id, s_i_id){{end}});
