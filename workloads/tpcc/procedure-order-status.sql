CREATE PROCEDURE pgdyno_tpcc_order_status(
  p_c_w_id int, p_c_d_id int, INOUT p_c_id int, p_by_name boolean, p_c_last text, max_tries int, INOUT retries int,
  INOUT last_o_id int, INOUT lines int
) LANGUAGE plpgsql AS $procedure$
DECLARE
  of_c record; of_o record; line record;
BEGIN
  retries := 0;
  LOOP
    BEGIN
{{include named.sql}}
      SELECT c_balance, c_first, c_middle, c_last INTO of_c
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id;
      SELECT o_id, o_entry_d, o_carrier_id INTO of_o FROM orders
        WHERE o_w_id = p_c_w_id AND o_d_id = p_c_d_id AND o_c_id = p_c_id ORDER BY o_id DESC LIMIT 1;
      last_o_id := of_o.o_id;
      lines := 0;
      FOR line IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = p_c_w_id AND ol_d_id = p_c_d_id AND ol_o_id = last_o_id
      LOOP
        lines := lines + 1;
      END LOOP;
{{include retried.sql}}
