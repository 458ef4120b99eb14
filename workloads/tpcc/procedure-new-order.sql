-- The rollback stands outside the block with EXCEPTION, so that the next try is a transaction of its own.
-- Stock is locked in its keys' order, so that orders do not wait for each other in a circle. unused_i_id is 0, or
-- the item that does not exist.
CREATE PROCEDURE pgdyno_tpcc_new_order(
  p_w_id int, p_d_id int, p_c_id int, p_ol_cnt int, p_all_local int, p_i_ids int[], p_supply_w_ids int[],
  p_quantities int[], p_unused_i_id int, max_tries int, INOUT retries int, INOUT total numeric
) LANGUAGE plpgsql AS $procedure$
DECLARE
  o_number int; tax_of_w numeric; tax_of_d numeric; discount numeric; last_name text; credit text;
  price numeric; item_name text; item_data text; stock_left int; dist_info text; stock_data text;
  line record; is_done boolean;
BEGIN
  retries := 0;
  LOOP
    BEGIN
      total := 0;
      SELECT w_tax INTO tax_of_w FROM warehouse WHERE w_id = p_w_id;
      UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w_id AND d_id = p_d_id
        RETURNING d_tax, d_next_o_id - 1 INTO tax_of_d, o_number;
      SELECT c_discount, c_last, c_credit INTO discount, last_name, credit
        FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
      INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (o_number, p_d_id, p_w_id, p_c_id, CURRENT_TIMESTAMP, NULL, p_ol_cnt, p_all_local);
      INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (o_number, p_d_id, p_w_id);
      FOR line IN
        SELECT n, p_i_ids[n] AS i_id, p_supply_w_ids[n] AS w_id, p_quantities[n] AS quantity
        FROM generate_series(1, cardinality(p_i_ids)) AS g (n) ORDER BY 3, 2
      LOOP
        SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = line.i_id;
        UPDATE stock SET
          s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                            ELSE s_quantity - line.quantity + 91 END,
          s_ytd = s_ytd + line.quantity, s_order_cnt = s_order_cnt + 1,
          s_remote_cnt = s_remote_cnt + CASE WHEN line.w_id <> p_w_id THEN 1 ELSE 0 END
        WHERE s_w_id = line.w_id AND s_i_id = line.i_id
        RETURNING s_quantity, s_data, CASE p_d_id{{for i 1 10}} WHEN {{i}} THEN s_dist_{{if :i < 10}}0{{end}}{{i}}{{end}} END
        INTO stock_left, stock_data, dist_info;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                ol_quantity, ol_amount, ol_dist_info)
          VALUES (o_number, p_d_id, p_w_id, line.n, line.i_id, line.w_id, NULL,
                  line.quantity, line.quantity * price, dist_info);
        total := total + line.quantity * price;
      END LOOP;
      IF p_unused_i_id > 0 THEN
        SELECT i_price, i_name, i_data INTO price, item_name, item_data FROM item WHERE i_id = p_unused_i_id;
      END IF;
      is_done := true;
    EXCEPTION WHEN serialization_failure OR deadlock_detected THEN
      IF retries + 1 >= max_tries THEN
        RAISE;
      END IF;
      is_done := false;
    END;
    IF is_done AND p_unused_i_id = 0 THEN
      total := total * (1 - discount) * (1 + tax_of_w + tax_of_d);
      RETURN;
    END IF;
    ROLLBACK;
    IF is_done THEN
      RETURN;
    END IF;
    retries := retries + 1;
  END LOOP;
END
$procedure$;
