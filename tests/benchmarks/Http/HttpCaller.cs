using System.Buffers.Text;
using System.Net.Sockets;
using System.Text;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>Sends one request again and again over a connection and reads the answers to their ends,
/// so that servers are measured and not clients.</summary>
internal sealed class HttpCaller : ICaller
{
    private readonly Socket _socket;
    private readonly byte[] _request;
    private byte[] _buffer = new byte[64 * 1024];
    private int _begin;
    private int _end;

    private HttpCaller(Uri address, string mediaType, byte[] body)
    {
        string head = $"POST {address.AbsolutePath} HTTP/1.1\r\nHost: {address.Authority}\r\n"
            + $"Connection: keep-alive\r\nContent-Type: {mediaType}\r\n"
            + $"Accept: {mediaType}\r\nContent-Length: {body.Length}\r\n\r\n";
        _request = [.. Encoding.ASCII.GetBytes(head), .. body];
        _socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        _socket.Connect(address.Host, address.Port);
    }

    /// <param name="address">With its path.</param>
    /// <param name="mediaType">Of request and reply.</param>
    /// <param name="records">In the request.</param>
    public static HttpCaller Connect(string address, string mediaType, int records)
    {
        RpcSchema schema = SampleData.LoadSchema();
        DynamicMessage request = SampleData.Dynamic(schema.GetMethod("Test").RequestType, records);
        if (!MessageFormats.TryFind(mediaType, out MessageFormat? format))
        {
            throw new ArgumentException($"'{mediaType}' is no format.");
        }

        // An empty list is left out by ProtoJSON, and missed by the other.
        byte[] body = format == MessageFormats.Json && records == 0
            ? "{\"data\":[]}"u8.ToArray()
            : format.ToArray(request);
        return new HttpCaller(new Uri(address), mediaType, body);
    }

    public void Call()
    {
        _socket.Send(_request);
        _begin = _end = 0;
        int body = ReadTo("\r\n\r\n"u8);
        ReadOnlySpan<byte> head = _buffer.AsSpan(0, body);
        if (!head.StartsWith("HTTP/1.1 200 "u8))
        {
            throw new InvalidOperationException($"The server said {Encoding.ASCII.GetString(head)}");
        }

        int length = head.IndexOf("Content-Length: "u8);
        if (length >= 0)
        {
            _ = Utf8Parser.TryParse(head[(length + 16)..], out int bytes, out _);
            while (_end < body + bytes)
            {
                Receive();
            }
        }
        else
        {
            // In chunks; the empty one is the last.
            ReadTo("\r\n0\r\n\r\n"u8);
        }
    }

    public void Dispose() => _socket.Dispose();

    // Up to and with a mark; where the next byte is.
    private int ReadTo(ReadOnlySpan<byte> mark)
    {
        while (true)
        {
            int found = _buffer.AsSpan(_begin, _end - _begin).IndexOf(mark);
            if (found >= 0)
            {
                // The mark of the last chunk may begin with the end of the head.
                int next = _begin + found + mark.Length;
                _begin = next - 2;
                return next;
            }

            _begin = Math.Max(_begin, _end - mark.Length);
            Receive();
        }
    }

    private void Receive()
    {
        if (_end == _buffer.Length)
        {
            Array.Resize(ref _buffer, 2 * _buffer.Length);
        }

        int count = _socket.Receive(_buffer.AsSpan(_end));
        _end += count > 0 ? count : throw new InvalidOperationException("The server hung up.");
    }
}
