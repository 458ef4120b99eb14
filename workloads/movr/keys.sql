CREATE INDEX vehicles_auto_index_fk_city_ref_users ON vehicles (city, owner_id);
CREATE INDEX rides_auto_index_fk_city_ref_users ON rides (city, rider_id);
CREATE INDEX rides_auto_index_fk_vehicle_city_ref_vehicles ON rides (vehicle_city, vehicle_id);
ALTER TABLE vehicles ADD FOREIGN KEY (city, owner_id) REFERENCES users (city, id);
ALTER TABLE rides ADD FOREIGN KEY (city, rider_id) REFERENCES users (city, id);
ALTER TABLE rides ADD FOREIGN KEY (vehicle_city, vehicle_id) REFERENCES vehicles (city, id);
ALTER TABLE vehicle_location_histories ADD FOREIGN KEY (city, ride_id) REFERENCES rides (city, id);
ALTER TABLE user_promo_codes ADD FOREIGN KEY (city, user_id) REFERENCES users (city, id);
