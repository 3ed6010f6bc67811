//! Functions that these servers evaluate from their arguments alone.

/// Functions whose value depends on their arguments, and on settings that the finisher follows.
/// `rand` and `uuid` are of chance in both servers. No function of a user hides one of these.
pub(super) const FUNCTIONS: &str = "\
    abs acos adddate addtime ascii asin atan atan2 avg bin bit_and bit_count bit_length bit_or \
    bit_xor cast ceil ceiling char char_length character_length charset chr coalesce coercibility \
    collation concat concat_ws conv convert convert_tz cos cot count crc32 cume_dist curdate \
    current_date current_time current_timestamp curtime date date_add date_format date_sub \
    datediff day dayname dayofmonth dayofweek dayofyear degrees dense_rank elt exp export_set \
    extract field find_in_set first_value floor format from_base64 from_days from_unixtime \
    greatest group_concat hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert \
    instr is_ipv4 is_ipv6 isnull json_array json_array_append json_array_insert json_arrayagg \
    json_compact json_contains json_contains_path json_depth json_detailed json_exists \
    json_extract json_insert json_keys json_length json_loose json_merge json_merge_patch \
    json_merge_preserve json_object json_objectagg json_overlaps json_query json_quote \
    json_remove json_replace json_search json_set json_type json_unquote json_valid json_value \
    lag last_day last_value lcase lead least left length ln localtime localtimestamp locate log \
    log10 log2 lower lpad ltrim make_set makedate maketime max md5 median microsecond mid min \
    minute mod month monthname now nth_value ntile nullif nvl nvl2 oct octet_length ord \
    percent_rank percentile_cont percentile_disc period_add period_diff pi position pow power \
    quarter quote radians rand rank regexp_instr regexp_replace regexp_substr repeat replace \
    reverse right round row_number rpad rtrim sec_to_time second sha sha1 sha2 sign sin soundex \
    space sqrt std stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring \
    substring_index subtime sum tan time time_format time_to_sec timediff timestamp timestampadd \
    timestampdiff to_base64 to_days to_seconds trim truncate ucase unhex unix_timestamp upper \
    utc_date utc_time utc_timestamp uuid var_pop var_samp variance week weekday weekofyear \
    weight_string year yearweek";

/// Those among [`FUNCTIONS`] that MySQL lacks, or has only in some of its versions: a user may have
/// a function of this name.
const NOT_OF_MYSQL: &str = "\
    chr json_compact json_detailed json_exists json_loose json_overlaps json_query json_value \
    median nvl nvl2 percentile_cont percentile_disc";

/// Functions that MySQL alone has.
const OF_MYSQL: &str = "\
    any_value bin_to_uuid grouping is_uuid json_pretty json_storage_size regexp_like uuid_to_bin";

/// Functions of a product beside [`FUNCTIONS`], and those among these that it lacks.
pub(super) fn of(is_mariadb: bool) -> (&'static str, &'static str) {
    match is_mariadb {
        true => ("", ""),
        false => (OF_MYSQL, NOT_OF_MYSQL),
    }
}

/// Words that may give the present moment, with or without parentheses.
pub(super) const OF_MOMENT: &str = "\
    curdate curtime current_date current_time current_timestamp localtime localtimestamp now \
    unix_timestamp utc_date utc_time utc_timestamp";

/// Words before a parenthesis that call nothing.
pub(super) const BEFORE_PARENTHESES: &str = "\
    all and any as between binary by case cross date_add datetime decimal distinct div double else \
    except exists from group having in inner intersect interval is join key like limit not \
    numeric offset on or order over partition recursive regexp rlike row select signed some \
    straight_join then union unsigned using values varchar when where window with within xor";

/// Those among [`FUNCTIONS`] that apply the rules of the session's time zone to other moments than
/// this one.
pub(super) const OF_ZONE: &str = "convert_tz from_unixtime unix_timestamp";

/// Words that call a function of the server's session without parentheses.
pub(super) const OF_SERVER: [&str; 2] = ["current_role", "current_user"];
