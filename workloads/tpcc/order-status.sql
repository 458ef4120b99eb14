-- A customer's last order.
{{home}}
{{think}}
\set c_w_id :w_id
\set c_d_id random(1, :districts)
\set is_by_name random(1, 100) <= :by_name_percent
\if :is_by_name
\set c_id 0
{{name}}
\else
\set c_last ''
\set c_id {{customer_id}}
\endif
{{if :form = 'procedure'}}
CALL pgdyno_tpcc_order_status(:c_w_id, :c_d_id, :c_id, :is_by_name, :c_last, :server_tries, 0, NULL, NULL) \gset
{{else}}
BEGIN;
\if :is_by_name
{{by_name}}
\endif
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id;
SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = :c_w_id AND o_d_id = :c_d_id AND o_c_id = :c_id ORDER BY o_id DESC LIMIT 1 \gset
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = :c_w_id AND ol_d_id = :c_d_id AND ol_o_id = :o_id;
END;
{{end}}
