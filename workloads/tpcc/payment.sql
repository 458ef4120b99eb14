-- A customer pays: of this district or, now and then, of another warehouse.
{{home}}
{{think}}
\set d_id random(1, :districts)
\set c_w_id :w_id
\set c_d_id :d_id
\if {{active}} > 1 and random(1, 100) <= :remote_payment_percent
\set c_w_id {{other}}
\set c_d_id random(1, :districts)
\endif
\set amount random(100, 500000)
\set is_by_name random(1, 100) <= :by_name_percent
\if :is_by_name
\set c_id 0
{{name}}
\else
\set c_last ''
\set c_id {{customer_id}}
\endif
{{if :form = 'procedure'}}
CALL pgdyno_tpcc_payment(:w_id, :d_id, :c_w_id, :c_d_id, :c_id, :is_by_name, :c_last, :amount, :server_tries, 0, NULL) \gset
{{else}}
BEGIN;
UPDATE warehouse SET w_ytd = w_ytd + :amount * 0.01 WHERE w_id = :w_id RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip \gset
UPDATE district SET d_ytd = d_ytd + :amount * 0.01 WHERE d_w_id = :w_id AND d_id = :d_id RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip \gset
\if :is_by_name
{{by_name}}
\endif
UPDATE customer SET c_balance = c_balance - :amount * 0.01, c_ytd_payment = c_ytd_payment + :amount * 0.01, c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN substring(c_id::text || ' ' || c_d_id::text || ' ' || c_w_id::text || ' ' || :d_id::int::text || ' ' || :w_id::int::text || ' ' || (:amount * 0.01)::text || ' ' || c_data, 1, 500) ELSE c_data END WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id RETURNING c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_data;
\set h_data text(:w_name) || '    ' || text(:d_name)
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (:c_id, :c_d_id, :c_w_id, :d_id, :w_id, CURRENT_TIMESTAMP, :amount * 0.01, :h_data){{write}}
END;
{{end}}
