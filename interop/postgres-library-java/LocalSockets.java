// Sockets of the file system for pgjdbc's option `socketFactory`: Java has them as channels, and the driver wants
// a Socket. `socketFactoryArg` is the socket's path.

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

public final class LocalSockets extends SocketFactory {
    private final String path;

    public LocalSockets(String path) {
        this.path = path;
    }

    @Override
    public Socket createSocket() {
        return new LocalSocket(path);
    }

    @Override
    public Socket createSocket(String host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress own, int ownPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress own, int ownPort) {
        throw new UnsupportedOperationException();
    }

    private static final class LocalSocket extends Socket {
        private final String path;
        private SocketChannel channel;
        /** One thread may read while another writes. */
        private Selector readable;
        private Selector writable;
        private int timeout;

        LocalSocket(String path) {
            this.path = path;
        }

        @Override
        public void connect(SocketAddress address, int connectTimeout) throws IOException {
            channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
            channel.configureBlocking(false);
            readable = Selector.open();
            writable = Selector.open();
            channel.register(readable, SelectionKey.OP_READ);
            channel.register(writable, SelectionKey.OP_WRITE);
        }

        @Override
        public InputStream getInputStream() {
            return new InputStream() {
                @Override
                public int read() throws IOException {
                    byte[] one = new byte[1];
                    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
                }

                @Override
                public int read(byte[] bytes, int start, int size) throws IOException {
                    ByteBuffer buffer = ByteBuffer.wrap(bytes, start, size);
                    while (true) {
                        int read = channel.read(buffer);
                        if (read != 0 || size == 0) {
                            return read;
                        }
                        readable.selectedKeys().clear();
                        if (readable.select(timeout) == 0 && timeout > 0) {
                            throw new SocketTimeoutException("nothing came in time");
                        }
                    }
                }
            };
        }

        @Override
        public OutputStream getOutputStream() {
            return new OutputStream() {
                @Override
                public void write(int value) throws IOException {
                    write(new byte[] {(byte) value}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int start, int size) throws IOException {
                    ByteBuffer buffer = ByteBuffer.wrap(bytes, start, size);
                    while (buffer.hasRemaining()) {
                        if (channel.write(buffer) == 0) {
                            writable.selectedKeys().clear();
                            writable.select();
                        }
                    }
                }
            };
        }

        @Override
        public boolean isConnected() {
            return channel != null;
        }

        @Override
        public boolean isClosed() {
            return channel != null && !channel.isOpen();
        }

        @Override
        public synchronized void close() throws IOException {
            if (channel != null) {
                channel.close();
                readable.close();
                writable.close();
            }
        }

        @Override
        public synchronized void setSoTimeout(int timeout) {
            this.timeout = timeout;
        }

        @Override
        public synchronized int getSoTimeout() {
            return timeout;
        }

        @Override
        public void setTcpNoDelay(boolean on) {}

        @Override
        public void setKeepAlive(boolean on) {}

        @Override
        public synchronized int getSendBufferSize() {
            return 8192;
        }

        @Override
        public synchronized int getReceiveBufferSize() {
            return 8192;
        }
    }
}
