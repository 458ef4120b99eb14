      IF p_by_name THEN
        SELECT c_id INTO p_c_id FROM (
          SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS named FROM customer
          WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last) AS same
        WHERE 2 * place IN (named, named + 1);
      END IF;
