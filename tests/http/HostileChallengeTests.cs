using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Servers whose challenge for authentication is no such thing.</summary>
public static class HostileChallengeTests
{
    // Of CHALLENGE_MESSAGE ([MS-NLMP] 2.2.1.2): where the fields of the target's name and facts stand.
    private const int NameAt = 12;
    private const int FactsAt = 40;

    [Theory]
    [InlineData(NameAt, 0xFFFF, 56u)]
    [InlineData(FactsAt, 8, 0xFFFFFFFFu)]
    [InlineData(FactsAt, 8, 0x7FFFFFFFu)]
    [InlineData(FactsAt, 3, 56u)]
    public static async Task Whose_parts_lie_elsewhere_is_an_error_of_the_call(
        int at, int length, uint offset)
    {
        byte[] challenge = [.. "NTLMSSP\0"u8, 2, 0, 0, 0, .. new byte[52]];
        BinaryPrimitives.WriteUInt32LittleEndian(challenge.AsSpan(20), 0xE28A8235);
        BinaryPrimitives.WriteUInt16LittleEndian(challenge.AsSpan(at), (ushort)length);
        BinaryPrimitives.WriteUInt16LittleEndian(challenge.AsSpan(at + 2), (ushort)length);
        BinaryPrimitives.WriteUInt32LittleEndian(challenge.AsSpan(at + 4), offset);

        await CallAsync(Convert.ToBase64String(challenge));
    }

    [Theory]
    [InlineData("TlRM!VNT")]
    [InlineData("TlRMTVNTUAACAAAA")]
    public static async Task That_is_no_token_is_an_error_of_the_call(string challenge) =>
        await CallAsync(challenge);

    private static async Task CallAsync(string challenge)
    {
        using TcpListener listener = new(IPAddress.Loopback, 0);
        listener.Start();
        Task serving = ServeAsync(listener, challenge);
        RpcClient client = RpcClient.Connect(
            $"http://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}/", SearchServer.Schema,
            new RpcClientOptions
            {
                Lazy = true,
                Security = new RpcClientSecurity
                {
                    Authentication = RpcClientAuthentication.User,
                    Credential = new NetworkCredential("bob", "Pa55word", "CORP"),
                    Mechanism = RpcMechanism.Ntlm,
                },
            });

        using (client)
        {
            RpcException e = await Assert.ThrowsAsync<RpcException>(
                async () => await client.InvokeAsync("Search", new { query = "x" }));

            Assert.False(string.IsNullOrWhiteSpace(e.Message));
        }

        listener.Stop();
        await serving;
    }

    private static async Task ServeAsync(TcpListener listener, string challenge)
    {
        List<Task> answers = [];
        try
        {
            while (true)
            {
                answers.Add(AnswerAsync(await listener.AcceptTcpClientAsync(), challenge));
            }
        }
        catch (Exception e) when (e is SocketException or InvalidOperationException)
        {
            // The test has ended, and the client with it.
            await Task.WhenAll(answers);
        }
    }

    // Refuses every request, with the challenge where one has begun to authenticate.
    private static async Task AnswerAsync(TcpClient connection, string challenge)
    {
        using TcpClient client = connection;
        using StreamReader reader = new(client.GetStream(), Encoding.Latin1);
        string head = "";
        try
        {
            while (await reader.ReadLineAsync() is { } line)
            {
                head += line + "\n";
                if (line.Length > 0)
                {
                    continue;
                }

                string more = head.Contains("Authorization: NTLM", StringComparison.OrdinalIgnoreCase)
                    ? $" {challenge}"
                    : "";
                bool isLast = head.Contains("Connection: close", StringComparison.OrdinalIgnoreCase);
                head = "";
                await client.GetStream().WriteAsync(Encoding.Latin1.GetBytes(
                    $"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM{more}\r\n"
                    + "Content-Length: 0\r\n\r\n"));
                if (isLast)
                {
                    return;
                }
            }
        }
        catch (IOException)
        {
            // The client has hung up.
        }
    }
}
