-- An order of 5 to 15 lines. The one that is rolled back has an item that does not exist as its last.
{{home}}
{{think}}
\set d_id random(1, :districts)
\set c_id {{customer_id}}
\set ol_cnt random(5, 15)
-- A bit for each line that another warehouse supplies.
\set remote 0
\if {{active}} > 1
\for ol_number 1 :ol_cnt
\set remote :remote | (case when random(1, 100) <= :remote_line_percent then 1 << :ol_number else 0 end)
\endfor
\endif
\set all_local case when :remote = 0 then 1 else 0 end
{{if :form <> 'statements'}}
\set i_ids ''
\set supply_w_ids ''
\set quantities ''
\for ol_number 1 :ol_cnt{{minus_last}}
{{line}}
\set i_ids :i_ids || ',' || :i_id
\set supply_w_ids :supply_w_ids || ',' || :supply_w_id
\set quantities :quantities || ',' || :quantity
\endfor
\set i_ids '{' || substring(:i_ids, 2) || '}'
\set supply_w_ids '{' || substring(:supply_w_ids, 2) || '}'
\set quantities '{' || substring(:quantities, 2) || '}'
{{end}}
{{if :form = 'procedure'}}
CALL pgdyno_tpcc_new_order(:w_id, :d_id, :c_id, :ol_cnt, :all_local, :i_ids, :supply_w_ids, :quantities, {{if :script = 'new-order-rollback-procedure'}}:items + 1{{else}}0{{end}}, :server_tries, 0, NULL) \gset
{{else}}
BEGIN;
SELECT w_tax FROM warehouse WHERE w_id = :w_id;
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w_id AND d_id = :d_id RETURNING d_tax, d_next_o_id - 1 AS o_id \gset
SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (:o_id, :d_id, :w_id, :c_id, CURRENT_TIMESTAMP, NULL, :ol_cnt, :all_local){{write}}
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:o_id, :d_id, :w_id){{write}}
{{if :form = 'batch'}}
-- An item may stand in several lines: then its stock changes once for each of them.
SELECT nth AS rounds, i_price, i_name, i_data, s_quantity, {{dist}} AS dist_info, s_data FROM {{lines}} JOIN item ON item.i_id = line.i_id JOIN stock ON s_w_id = line.w_id AND s_i_id = line.i_id ORDER BY nth \aset
\for round 1 :rounds
UPDATE stock SET {{sold}} FROM {{lines}} WHERE s_w_id = line.w_id AND s_i_id = line.i_id AND nth = :round{{write}}
\endfor
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) SELECT :o_id::int, :d_id::int, :w_id::int, n, line.i_id, line.w_id, NULL, quantity, quantity * i_price, {{dist}} FROM {{lines}} JOIN item ON item.i_id = line.i_id JOIN stock ON s_w_id = line.w_id AND s_i_id = line.i_id{{write}}
{{else}}
\for ol_number 1 :ol_cnt{{minus_last}}
{{line}}
SELECT i_price, i_name, i_data FROM item WHERE i_id = :i_id \gset
SELECT s_quantity, {{dist}} AS dist_info, s_data FROM stock WHERE s_w_id = :supply_w_id AND s_i_id = :i_id \gset
UPDATE stock SET {{sold}} WHERE s_w_id = :supply_w_id AND s_i_id = :i_id{{write}}
\set dist_info text(:dist_info)
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (:o_id, :d_id, :w_id, :ol_number, :i_id, :supply_w_id, NULL, :quantity, :quantity::int * :i_price::decimal, :dist_info){{write}}
\endfor
{{end}}
{{if :script = 'new-order-rollback'}}
SELECT i_price, i_name, i_data FROM item WHERE i_id = :items + 1;
ROLLBACK;
{{else}}
END;
{{end}}
{{end}}
