using System.Globalization;
using System.Text;
using Google.Protobuf;

namespace ProtoRpc.Interop;

/// <summary>A client of the original: it builds its bytes and reads ours by the numbers of fields alone, and
/// sends them through impacket.</summary>
internal sealed class OldClient : IDisposable
{
    private readonly PeerProcess _peer;
    private byte[] _context = [];
    private int _calls;

    private OldClient(PeerProcess peer) => _peer = peer;

    /// <summary>The session id that the server gave, in hex.</summary>
    public string Session => _context.Length == 0 ? "" : Convert.ToHexStringLower(Fields(_context)[1]);

    public static async Task<OldClient> ConnectAsync(RpcEndpoint endpoint)
    {
        PeerProcess peer = PeerProcess.Start(
            Peers.Python,
            Path.Combine(AppContext.BaseDirectory, "impacket", "exec_client.py"),
            endpoint.Port.ToString(CultureInfo.InvariantCulture),
            ShopSchema.Interface.ToString());
        Assert.Equal("bound", await peer.ReadLineAsync());
        return new OldClient(peer);
    }

    public static byte[] Field(int number, ReadOnlySpan<byte> value) =>
        [.. Varint((ulong)(number << 3 | 2)), .. Varint((ulong)value.Length), .. value];

    public static byte[] Field(int number, long value) =>
        [.. Varint((ulong)number << 3), .. Varint((ulong)value)];

    public static byte[] Field(int number, string value) => Field(number, Encoding.UTF8.GetBytes(value));

    /// <summary>A message's fields by number; numbers as their varint's bytes,
    /// the last one of a number wins.</summary>
    public static Dictionary<int, byte[]> Fields(byte[] message)
    {
        Dictionary<int, byte[]> fields = [];
        CodedInputStream input = new(message);
        while (input.ReadTag() is not 0 and var tag)
        {
            fields[WireFormat.GetTagFieldNumber(tag)] =
                WireFormat.GetTagWireType(tag) == WireFormat.WireType.Varint
                ? Varint(input.ReadUInt64())
                : input.ReadBytes().ToByteArray();
        }

        return fields;
    }

    /// <summary>Sends bytes, and gives the bytes of the reply.</summary>
    public async Task<byte[]> SendAsync(byte[] payload)
    {
        _peer.WriteLine($"call 0 {Convert.ToHexStringLower(payload)}");
        string line = await _peer.ReadLineAsync();
        Assert.StartsWith("reply 0 ", line, StringComparison.Ordinal);
        return Convert.FromHexString(line["reply 0 ".Length..]);
    }

    /// <summary>Calls a method as the original does, and reads the reply in its order: the id, the context,
    /// the exception, success, the body.</summary>
    public async Task<OldReply> CallAsync(string method, byte[] body)
    {
        byte[] id = new byte[16];
        id[0] = (byte)++_calls;
        byte[] header = [.. Field(1, 1), .. Field(2, method), .. Field(3, id), .. Field(5, _context)];
        byte[] reply = await SendAsync([.. Varint((ulong)header.Length), .. header, .. body]);

        CodedInputStream input = new(reply);
        Dictionary<int, byte[]> fields = Fields(input.ReadBytes().ToByteArray());
        Assert.Equal(id, fields[6]);
        _context = fields.GetValueOrDefault(5, _context);
        return new OldReply(
            !fields.TryGetValue(7, out byte[]? success) || success[0] == 1,
            fields.GetValueOrDefault(8),
            reply[(int)input.Position..]);
    }

    public void Dispose() => _peer.Dispose();

    private static byte[] Varint(ulong value)
    {
        List<byte> bytes = [];
        for (; value > 0x7F; value >>= 7)
        {
            bytes.Add((byte)(value | 0x80));
        }

        return [.. bytes, (byte)value];
    }
}
