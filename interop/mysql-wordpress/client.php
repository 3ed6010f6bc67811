<?php
// Installs WordPress and uses it as plugins do. An answer is a line: a name, a tab, and JSON.

const CANARY = 'canary-59d2-in-plain-text';
$_SERVER += ['HTTP_HOST' => 'localhost', 'SERVER_NAME' => 'localhost', 'REQUEST_URI' => '/',
    'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1'];
define('WP_INSTALLING', true);
require getenv('WORDPRESS') . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

function wp_mail()
{
    return true;
}

function say($name, $value)
{
    echo $name, "\t", json_encode($value), "\n";
}

/** Says an answer, and the errors of the database that it met. */
function says($name, $does)
{
    global $EZSQL_ERROR;
    $EZSQL_ERROR = [];
    $answer = $does();
    say($name, is_wp_error($answer) ? $answer->get_error_code() : $answer);
    foreach ($EZSQL_ERROR as $number => $error) {
        fwrite(STDERR, "$name: {$error['error_str']}: {$error['query']}\n");
        say("$name: error $number", strtok($error['error_str'], ':'));
    }
}

$wpdb->suppress_errors(true);
$wpdb->hide_errors();
says('installed', fn () => array_keys(wp_install('Blog ' . CANARY, 'admin', 'a@example.com', true, '', 'secret')));
wp_installing(false);
wp_cache_flush();
says('installed twice', fn () => dbDelta(wp_get_db_schema()));
says('tables', fn () => $wpdb->get_col('SHOW TABLES'));
says('columns', fn () => $wpdb->get_results('DESCRIBE wp_postmeta'));
says('title', fn () => get_option('blogname'));
says('option', fn () => [add_option('own', ['text' => CANARY, 'n' => 7]), get_option('own'),
    update_option('own', CANARY . ' two'), delete_option('none')]);
says('all options', fn () => count(wp_load_alloptions(true)) > 50);
says('transient', fn () => [set_transient('kept', CANARY, 3600), get_transient('kept')]);
says('expired transients', fn () => delete_expired_transients(true));

$users = [];
foreach (['ann', 'bob'] as $login) {
    says("user $login", function () use ($login, &$users) {
        $made = ['user_login' => $login, 'user_pass' => 'x', 'display_name' => $login,
            'first_name' => CANARY . " $login", 'role' => 'editor'];
        $users[$login] = wp_insert_user($made);
        return [get_user_by('login', $login)->first_name, user_can($users[$login], 'edit_posts')];
    });
}
says('users by role', fn () => (new WP_User_Query(['role' => 'editor', 'fields' => 'user_login',
    'orderby' => 'user_login']))->get_results());
says('users by meta', fn () => get_users(['meta_key' => 'first_name', 'meta_value' => CANARY . ' bob',
    'fields' => 'user_login']));
says('user search', fn () => get_users(['meta_key' => 'first_name', 'meta_value' => 'IN-PLAIN',
    'meta_compare' => 'LIKE', 'fields' => 'user_login', 'orderby' => 'user_login']));

$posts = [];
foreach (range(1, 12) as $number) {
    $posts[$number] = wp_insert_post(['post_title' => "post $number", 'post_content' => 'body',
        'post_status' => 'publish', 'post_author' => $users[$number % 2 ? 'ann' : 'bob'], 'post_date' => sprintf('2024-01-%02d 10:00:00', $number),
        'meta_input' => ['price' => $number * 2.5, 'color' => CANARY . ($number % 3 ? ' red' : ' blue')]]);
}
$titles = fn ($asked) => array_map(fn ($post) => $post->post_title,
    (new WP_Query($asked + ['posts_per_page' => 20, 'orderby' => 'ID', 'order' => 'ASC']))->posts);
says('meta', fn () => get_post_meta($posts[3]));
says('posts', fn () => $titles(['author' => $users['bob']]));
says('by meta', fn () => $titles(['meta_key' => 'color', 'meta_value' => CANARY . ' blue']));
says('by meta, other letters', fn () => $titles(['meta_key' => 'color', 'meta_value' => strtoupper(CANARY) . ' BLUE']));
says('by number', fn () => $titles(['meta_query' => [['key' => 'price', 'value' => 20, 'compare' => '>',
    'type' => 'NUMERIC']]]));
says('by two', fn () => $titles(['meta_query' => ['relation' => 'AND',
    ['key' => 'price', 'value' => [5, 20], 'compare' => 'BETWEEN', 'type' => 'DECIMAL(10,2)'],
    ['key' => 'color', 'value' => 'red', 'compare' => 'LIKE']]]));
says('sorted by meta', fn () => $titles(['meta_key' => 'price', 'orderby' => 'meta_value_num', 'order' => 'DESC',
    'posts_per_page' => 4, 'no_found_rows' => true]));
says('without meta', fn () => $titles(['meta_query' => [['key' => 'price', 'compare' => 'NOT EXISTS']]]));
says('found', function () {
    $query = new WP_Query(['posts_per_page' => 3, 'meta_key' => 'color', 'orderby' => 'ID']);
    return [count($query->posts), $query->found_posts];
});
says('changed', fn () => [update_post_meta($posts[4], 'color', CANARY . ' green', CANARY . ' red'),
    update_post_meta($posts[4], 'color', CANARY . ' white', 'nothing'), get_post_meta($posts[4], 'color', true)]);
says('deleted meta', fn () => [delete_post_meta($posts[5], 'price', 12.5), delete_post_meta_by_key('none'),
    get_post_meta($posts[5], 'price')]);
says('deleted', fn () => [wp_delete_post($posts[6], true)->post_title, get_post_meta($posts[6])]);

says('term', function () use ($posts) {
    $made = wp_insert_term('Red things', 'category', ['description' => CANARY . ' about red']);
    wp_set_post_categories($posts[1], [$made['term_id']]);
    add_term_meta($made['term_id'], 'icon', CANARY . ' icon');
    return [get_term($made['term_id'])->description, get_term_meta($made['term_id'], 'icon', true),
        get_term($made['term_id'])->count];
});
says('terms like', fn () => get_terms(['taxonomy' => 'category', 'description__like' => 'ABOUT', 'fields' => 'names',
    'hide_empty' => false]));
says('comment', function () use ($posts) {
    $made = wp_insert_comment(['comment_post_ID' => $posts[1], 'comment_content' => 'hello', 'comment_author' => 'c']);
    add_comment_meta($made, 'stars', CANARY . ' 5');
    return [get_comment_meta($made, 'stars', true), count(get_comments(['meta_key' => 'stars']))];
});
