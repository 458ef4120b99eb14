CREATE PROCEDURE pgdyno_tpcc_payment(
  p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, INOUT p_c_id int, p_by_name boolean, p_c_last text,
  p_cents int, max_tries int, INOUT retries int, INOUT balance numeric
) LANGUAGE plpgsql AS $procedure$
DECLARE
  amount numeric := p_cents * 0.01; of_w record; of_d record; of_c record;
BEGIN
  retries := 0;
  LOOP
    BEGIN
      UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = p_w_id
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip INTO of_w;
      UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = p_w_id AND d_id = p_d_id
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO of_d;
{{include named.sql}}
      UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC' THEN substring(concat_ws(' ', c_id, c_d_id, c_w_id, p_d_id, p_w_id, amount, c_data), 1, 500)
                      ELSE c_data END
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id
        RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, c_data INTO of_c;
      balance := of_c.c_balance;
      INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (p_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, CURRENT_TIMESTAMP, amount,
                of_w.w_name || '    ' || of_d.d_name);
{{include retried.sql}}
