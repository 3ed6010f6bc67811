//! Functions of PostgreSQL that depend on their arguments alone, by name.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Functions, aggregates and window functions of `pg_catalog` of which every variant depends on its
/// arguments, on settings that the finisher shares with the session (`pg_proc.provolatile`), and on
/// enumerations, which it has too.
const PURE: &str = "\
    abs acos acosd acosh age any_value area array_agg array_append array_cat array_dims \
    array_fill array_length array_lower array_ndims array_position array_positions array_prepend \
    array_remove array_replace array_to_json array_to_string array_to_tsvector array_upper ascii \
    asin asind asinh atan atan2 atan2d atand atanh avg bit_and bit_count bit_length bit_or \
    bit_xor bool_and bool_or btrim cardinality cash_in cash_out cbrt ceil ceiling char_length \
    character_length chr coalesce concat concat_ws convert convert_from convert_to corr cos cosd \
    cosh cot cotd count covar_pop covar_samp cume_dist date date_bin date_cmp_timestamptz \
    date_eq_timestamptz date_ge_timestamptz date_gt_timestamptz date_le_timestamptz \
    date_lt_timestamptz date_ne_timestamptz date_out date_part date_trunc daterange decode \
    degrees dense_rank div encode enum_first enum_last enum_range erf erfc every exp extract \
    factorial family first_value float4 float8 floor format gcd generate_series \
    generate_subscripts get_bit get_byte greatest grouping hashtext hashtextextended host \
    in_range initcap int2 int4 int4range int8 int8range interval interval_in interval_out \
    interval_pl_timestamptz isempty isfinite json_agg json_array_elements \
    json_array_elements_text json_array_length json_build_array json_build_object json_each \
    json_each_text json_extract_path json_extract_path_text json_object json_object_agg \
    json_object_keys json_strip_nulls json_to_record json_to_recordset json_to_tsvector \
    json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length \
    jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path \
    jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys \
    jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query \
    jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first \
    jsonb_path_query_first_tz jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls \
    jsonb_to_record jsonb_to_recordset jsonb_to_tsvector jsonb_typeof justify_days justify_hours \
    justify_interval lag last_value lcm lead least left length ln log log10 lower lower_inc \
    lower_inf lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz \
    masklen max md5 min min_scale mod mode netmask network normalize nth_value ntile nullif \
    num_nonnulls num_nulls numeric numrange octet_length overlaps overlay parse_ident \
    percent_rank percentile_cont percentile_disc pg_size_bytes pg_size_pretty pg_typeof \
    phraseto_tsquery pi plainto_tsquery position pow power quote_ident quote_literal \
    quote_nullable radians range_agg range_intersect_agg range_merge rank regexp_count \
    regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array \
    regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 \
    regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right round row_number \
    row_to_json rpad rtrim scale set_bit set_byte setweight sha224 sha256 sha384 sha512 sign sin \
    sind sinh split_part sqrt starts_with stddev stddev_pop stddev_samp string_agg \
    string_to_array string_to_table strip strpos substr substring sum tan tand tanh text time \
    timestamp timestamp_cmp_timestamptz timestamp_eq_timestamptz timestamp_ge_timestamptz \
    timestamp_gt_timestamptz timestamp_le_timestamptz timestamp_lt_timestamptz \
    timestamp_ne_timestamptz timestamp_out timestamptz timestamptz_cmp_date \
    timestamptz_cmp_timestamp timestamptz_eq_date timestamptz_eq_timestamp timestamptz_ge_date \
    timestamptz_ge_timestamp timestamptz_gt_date timestamptz_gt_timestamp timestamptz_le_date \
    timestamptz_le_timestamp timestamptz_lt_date timestamptz_lt_timestamp timestamptz_mi_interval \
    timestamptz_ne_date timestamptz_ne_timestamp timestamptz_out timestamptz_pl_interval timetz \
    timezone to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery \
    to_tsvector translate trim trim_array trim_scale trunc ts_headline ts_rank ts_rank_cd tsrange \
    tstzrange unistr unnest upper upper_inc upper_inf var_pop var_samp variance \
    websearch_to_tsquery width_bucket";

/// More of them, which hardly anybody calls by name: those behind operators and casts, and of rare
/// types. Every variant is immutable.
pub(super) const RARE: &str = include_str!("immutable_functions.txt");

/// Functions that give anything: nobody can tell who evaluated them.
pub(super) const OF_CHANCE: [&str; 2] = ["gen_random_uuid", "random"];

/// Whether a function depends on its arguments alone.
pub(super) fn is_pure(name: &str) -> bool {
    static ALL: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let all = PURE.split_whitespace().chain(RARE.split_whitespace());
        all.collect()
    });
    ALL.contains(name)
}
