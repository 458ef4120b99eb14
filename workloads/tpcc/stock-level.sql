-- How many items of the last 20 orders of the client's district run short.
{{home}}
{{think}}
\set d_id :client_id / {{active}} % :districts + 1
\set threshold random(10, 20)
{{if :form = 'procedure'}}
CALL pgdyno_tpcc_stock_level(:w_id, :d_id, :threshold, :server_tries, 0, NULL) \gset
{{else}}
BEGIN;
SELECT d_next_o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id \gset
SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = :w_id AND s_i_id = ol_i_id WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id >= :d_next_o_id - 20 AND ol_o_id < :d_next_o_id AND s_quantity < :threshold;
END;
{{end}}
