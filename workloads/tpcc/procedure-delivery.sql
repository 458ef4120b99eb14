-- Another delivery may have taken the oldest order of a district meanwhile: then there may be a next one.
CREATE PROCEDURE pgdyno_tpcc_delivery(
  p_w_id int, p_carrier int, p_districts int, max_tries int, INOUT retries int, INOUT delivered int
) LANGUAGE plpgsql AS $procedure$
DECLARE
  o_number int; customer_of_o int; amount numeric;
BEGIN
  retries := 0;
  LOOP
    BEGIN
      delivered := 0;
      FOR district_number IN 1..p_districts LOOP
        FOR try IN 1..10 LOOP
          DELETE FROM new_order WHERE no_w_id = p_w_id AND no_d_id = district_number AND no_o_id = (
            SELECT min(no_o_id) FROM new_order WHERE no_w_id = p_w_id AND no_d_id = district_number)
            RETURNING no_o_id INTO o_number;
          EXIT WHEN o_number IS NOT NULL
            OR NOT EXISTS (SELECT 1 FROM new_order WHERE no_w_id = p_w_id AND no_d_id = district_number);
        END LOOP;
        CONTINUE WHEN o_number IS NULL;
        UPDATE orders SET o_carrier_id = p_carrier
          WHERE o_w_id = p_w_id AND o_d_id = district_number AND o_id = o_number RETURNING o_c_id INTO customer_of_o;
        WITH line AS (
          UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
          WHERE ol_w_id = p_w_id AND ol_d_id = district_number AND ol_o_id = o_number RETURNING ol_amount)
          SELECT sum(ol_amount) INTO amount FROM line;
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
          WHERE c_w_id = p_w_id AND c_d_id = district_number AND c_id = customer_of_o;
        delivered := delivered + 1;
      END LOOP;
{{include retried.sql}}
