// pgjdbc by the library's socket: the client of postgres-java-pgjdbc, which knows nothing of it. The library is
// called by JNA.

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.ptr.LongByReference;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

public final class BySocket {
    /** What the header of the library declares, as far as it is needed. */
    public interface Functions extends Library {
        int strongroom_client_open(String configuration, String server, LongByReference client, byte[] message,
                long size);

        int strongroom_client_listen(long client, byte[] folder, long folderSize, byte[] message, long size);

        int strongroom_client_close(long client, byte[] message, long size);
    }

    private BySocket() {}

    private static void check(int code, byte[] message) {
        if (code != 0) {
            throw new IllegalStateException(code + " " + Native.toString(message, "UTF-8"));
        }
    }

    public static void main(String[] arguments) throws Exception {
        Functions functions = Native.load(System.getenv("STRONGROOM_CLIENT_LIBRARY"), Functions.class);
        byte[] message = new byte[1024];
        byte[] folder = new byte[256];
        LongByReference client = new LongByReference();
        check(functions.strongroom_client_open(System.getenv("STRONGROOM_CONFIGURATION"), null, client, message,
                message.length), message);
        check(functions.strongroom_client_listen(client.getValue(), folder, folder.length, message,
                message.length), message);
        try {
            // Nothing leaves the process unencrypted: the driver needs no TLS.
            String[] parts = System.getenv("STRONGROOM_JDBC_URL").split("\\?");
            String login = String.join("&", Arrays.stream(parts[1].split("&"))
                    .filter(part -> !part.startsWith("ssl")).toList());
            String path = Native.toString(folder, "UTF-8") + "/.s.PGSQL.5432";
            System.setProperty("strongroom.url", parts[0] + "?" + login + "&sslmode=disable"
                    + "&socketFactory=LocalSockets&socketFactoryArg="
                    + URLEncoder.encode(path, StandardCharsets.UTF_8));
            Client.main(arguments);
        } finally {
            check(functions.strongroom_client_close(client.getValue(), message, message.length), message);
        }
    }
}
