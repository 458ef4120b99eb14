-- The tables of cockroach's movr, of one region. Their other indexes come when the rows are in.
CREATE TABLE users (id uuid NOT NULL, city varchar NOT NULL, name varchar, address varchar, credit_card varchar, PRIMARY KEY (city, id));
CREATE TABLE vehicles (id uuid NOT NULL, city varchar NOT NULL, type varchar, owner_id uuid, creation_time timestamp, status varchar, current_location varchar, ext jsonb, PRIMARY KEY (city, id));
CREATE TABLE rides (id uuid NOT NULL, city varchar NOT NULL, vehicle_city varchar, rider_id uuid, vehicle_id uuid, start_address varchar, end_address varchar, start_time timestamp, end_time timestamp, revenue decimal(10,2), PRIMARY KEY (city, id), CONSTRAINT check_vehicle_city_city CHECK (vehicle_city = city));
CREATE TABLE vehicle_location_histories (city varchar NOT NULL, ride_id uuid NOT NULL, "timestamp" timestamp NOT NULL, lat float8, long float8, PRIMARY KEY (city, ride_id, "timestamp"));
CREATE TABLE promo_codes (code varchar NOT NULL PRIMARY KEY, description varchar, creation_time timestamp, expiration_time timestamp, rules jsonb);
CREATE TABLE user_promo_codes (city varchar NOT NULL, user_id uuid NOT NULL, code varchar NOT NULL, "timestamp" timestamp, usage_count bigint, PRIMARY KEY (city, user_id, code));
