using System.Buffers.Binary;
using System.Text.Json;

namespace ProtoRpc.WindowsTests;

/// <summary>A program of Linux that a test under Wine asks the test runner for. Wine starts such programs
/// too, but not with the pipes of a Windows program as their input and output.</summary>
/// <remarks>The first thing on a connection. What follows is the input of the program; what comes back are
/// parts, see <see cref="PeerPart"/>. The end of the connection ends the program.</remarks>
/// <param name="Token">Shows that the caller is a test of this run.</param>
/// <param name="Program">Its name or path.</param>
/// <param name="Arguments">Its arguments; paths may be those of Windows.</param>
/// <param name="Variables">Variables of its environment.</param>
internal sealed record PeerRequest(
    string Token, string Program, IReadOnlyList<string> Arguments,
    IReadOnlyDictionary<string, string?> Variables)
{
    /// <summary>The variable with the port and the token, in a test under Wine only.</summary>
    public const string Variable = "PROTORPC_TEST_PEERS";

    private const int MaxBytes = 1 << 20;

    /// <exception cref="FormatException">It is none.</exception>
    public static async Task<PeerRequest> ReadAsync(Stream stream, CancellationToken cancellation)
    {
        byte[] length = new byte[sizeof(int)];
        await stream.ReadExactlyAsync(length, cancellation);
        int bytes = BinaryPrimitives.ReadInt32BigEndian(length);
        if (bytes is < 0 or > MaxBytes)
        {
            throw new FormatException($"A request of {bytes} bytes.");
        }

        byte[] json = new byte[bytes];
        await stream.ReadExactlyAsync(json, cancellation);
        try
        {
            return JsonSerializer.Deserialize<PeerRequest>(json)
                ?? throw new FormatException("A request of null.");
        }
        catch (JsonException e)
        {
            throw new FormatException("A request that is not JSON.", e);
        }
    }

    public void Write(Stream stream)
    {
        byte[] json = JsonSerializer.SerializeToUtf8Bytes(this);
        byte[] length = new byte[sizeof(int)];
        BinaryPrimitives.WriteInt32BigEndian(length, json.Length);
        stream.Write([.. length, .. json]);
    }
}
