-- An order of 5 to 15 lines. The one that is rolled back has an item that does not exist as its last.
{{home}}
{{think}}
\set d_id random(1, :districts)
\set c_id {{customer_id}}
\set ol_cnt random(5, 15)
\set remote 0
{{if :remote_line_percent > 0}}
\if {{active}} > 1
\for ol_number 1 :ol_cnt
\set remote :remote | (case when random(1, 100) <= :remote_line_percent then 1 << :ol_number else 0 end)
\endfor
\endif
{{end}}
\set all_local case when :remote = 0 then 1 else 0 end
BEGIN;
SELECT w_tax FROM warehouse WHERE w_id = :w_id \gset
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w_id AND d_id = :d_id RETURNING d_tax, d_next_o_id - 1 AS o_id \gset
SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (:o_id, :d_id, :w_id, :c_id, CURRENT_TIMESTAMP, NULL, :ol_cnt, :all_local);
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:o_id, :d_id, :w_id);
\for ol_number 1 :ol_cnt{{if :script = 'new-order-rollback'}} - 1{{end}}
\set i_id {{item_id}}
\set quantity random(1, 10)
\set is_remote (:remote >> :ol_number) & 1
\set supply_w_id case when :is_remote = 1 then {{other}} else :w_id end
SELECT i_price, i_name, i_data FROM item WHERE i_id = :i_id \gset
SELECT s_quantity, {{dist}} AS dist_info, s_data FROM stock WHERE s_w_id = :supply_w_id AND s_i_id = :i_id \gset
UPDATE stock SET s_quantity = CASE WHEN s_quantity >= :quantity::int + 10 THEN s_quantity - :quantity::int ELSE s_quantity - :quantity::int + 91 END, s_ytd = s_ytd + :quantity::int, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :is_remote::int WHERE s_w_id = :supply_w_id AND s_i_id = :i_id;
\set dist_info text(:dist_info)
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (:o_id, :d_id, :w_id, :ol_number, :i_id, :supply_w_id, NULL, :quantity, :quantity::int * :i_price::decimal, :dist_info);
\endfor
{{if :script = 'new-order-rollback'}}
SELECT i_price, i_name, i_data FROM item WHERE i_id = :items + 1;
ROLLBACK;
{{else}}
END;
{{end}}
