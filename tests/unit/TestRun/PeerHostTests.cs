using System.Net;
using System.Net.Sockets;
using System.Text;
using ProtoRpc.TestRun.Windows;
using ProtoRpc.WindowsTests;

namespace ProtoRpc.Tests.TestRun;

public static class PeerHostTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Theory]
    [InlineData(@"Z:\a b\c.py", "/a b/c.py")]
    [InlineData(@"C:\users\x\f.pem", "/prefix/drive_c/users/x/f.pem")]
    [InlineData(@"--user-data-dir=C:\x", "--user-data-dir=/prefix/drive_c/x")]
    [InlineData(@"CORP\bob:Pa55word", @"CORP\bob:Pa55word")]
    [InlineData("https://127.0.0.1:1/", "https://127.0.0.1:1/")]
    [InlineData("", "")]
    public static void Paths_of_Wine_are_found_outside_of_it(string argument, string expected) =>
        Assert.Equal(expected, PeerHost.ToUnix(argument, "/prefix"));

    [UnixFact]
    public static async Task Passes_variables_and_input_there_and_output_and_the_end_back()
    {
        await using PeerHost host = new(Path.GetTempPath());
        using TcpClient client = await AskAsync(
            host, TokenOf(host), "sh", "-c", "read line; echo \"$line $V\"; echo no >&2; exit 7");

        await client.GetStream().WriteAsync("hello\n"u8.ToArray());
        List<PeerPart> parts = await ReadAsync(client);

        Assert.Equal("hello from there\n", TextOf(parts, PeerPart.Source.Output));
        Assert.Equal("no\n", TextOf(parts, PeerPart.Source.Errors));
        Assert.Equal(7, parts[^1].ToExitCode());
    }

    [UnixFact]
    public static async Task A_program_that_is_not_there_ends_as_in_a_shell()
    {
        await using PeerHost host = new(Path.GetTempPath());
        using TcpClient client = await AskAsync(host, TokenOf(host), "no-such-program");

        Assert.Equal(127, (await ReadAsync(client))[^1].ToExitCode());
    }

    [UnixFact]
    public static async Task Nothing_is_started_without_the_token()
    {
        string file = Path.Combine(Path.GetTempPath(), Guid.NewGuid().ToString("N"));
        await using PeerHost host = new(Path.GetTempPath());
        using TcpClient client = await AskAsync(host, "guess", "touch", file);

        Assert.Empty(await ReadAsync(client));
        Assert.False(File.Exists(file));
    }

    private static string TokenOf(PeerHost host) => host.Address.Split(' ')[1];

    private static async Task<TcpClient> AskAsync(
        PeerHost host, string token, string program, params string[] arguments)
    {
        TcpClient client = new();
        await client.ConnectAsync(IPAddress.Loopback, int.Parse(host.Address.Split(' ')[0]));
        new PeerRequest(token, program, arguments, new Dictionary<string, string?> { ["V"] = "from there" })
            .Write(client.GetStream());
        return client;
    }

    private static async Task<List<PeerPart>> ReadAsync(TcpClient client)
    {
        List<PeerPart> parts = [];
        try
        {
            do
            {
                parts.Add(await PeerPart.ReadAsync(client.GetStream()).WaitAsync(Patience));
            }
            while (parts[^1].From != PeerPart.Source.Exit);
        }
        catch (IOException)
        {
            // The connection was closed.
        }

        return parts;
    }

    private static string TextOf(List<PeerPart> parts, PeerPart.Source source) => string.Concat(
        parts.Where(part => part.From == source).Select(part => Encoding.UTF8.GetString(part.Bytes.Span)));
}
