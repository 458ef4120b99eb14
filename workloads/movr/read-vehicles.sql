{{any_city}}
SELECT city, id FROM vehicles WHERE city = :city;
