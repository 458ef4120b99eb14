-- The oldest order of each district that is not delivered yet.
{{home}}
{{think}}
\set carrier random(1, 10)
{{if :form = 'procedure'}}
CALL pgdyno_tpcc_delivery(:w_id, :carrier, :districts, :server_tries, 0, NULL) \gset
{{else}}
BEGIN;
\for d_id 1 :districts
\set o_id 0
\set waiting 1
-- Another delivery may have taken the oldest one meanwhile: then there may be a next one.
\for try 1 10
\if :o_id = 0 and :waiting > 0
DELETE FROM new_order WHERE no_w_id = :w_id AND no_d_id = :d_id AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = :d_id) RETURNING no_o_id AS o_id \aset
\if :o_id = 0
SELECT count(*) AS waiting FROM new_order WHERE no_w_id = :w_id AND no_d_id = :d_id \gset
\endif
\endif
\endfor
\if :o_id > 0
UPDATE orders SET o_carrier_id = :carrier WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_id = :o_id RETURNING o_c_id AS c_id \gset
UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id{{write}}
SELECT sum(ol_amount) AS amount FROM order_line WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id \gset
UPDATE customer SET c_balance = c_balance + :amount::decimal, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id{{write}}
\endif
\endfor
END;
{{end}}
