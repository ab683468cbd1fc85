-- A row is one measure of a stored release against its source, taken when it was made. beta weighs the levels of
-- the distortion: 0 is uniform, 1 and more let steps near the top cost more. mi_weight is the share of MI in wmi_utility.
create or replace macro anon.utility(r, beta := 0, mi_weight := 0.5) as table (
    __measures__
);
