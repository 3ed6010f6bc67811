<?php
// Where the server is. Protected columns need a strict SQL mode, which WordPress ends unless it is told otherwise.

define('DB_NAME', getenv('STRONGROOM_DATABASE'));
define('DB_USER', getenv('STRONGROOM_USER'));
define('DB_PASSWORD', getenv('STRONGROOM_PASSWORD'));
define('DB_HOST', getenv('STRONGROOM_HOST') . ':' . getenv('STRONGROOM_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', true);
define('WP_DEBUG_DISPLAY', false);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define($name . '_KEY', 'k');
    define($name . '_SALT', 's');
}
$table_prefix = 'wp_';
$wp_filter = ['incompatible_sql_modes' => [10 => [['function' => fn ($modes) => [], 'accepted_args' => 1]]]];
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
