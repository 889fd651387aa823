using System.Text;

namespace ProtoRpc.Tests.Transports.Lrpc;

/// <summary>A server in a process of its own, which the program of the windows suite starts.</summary>
public static class LrpcProgram
{
    /// <summary>The first argument of the program.</summary>
    public const string Verb = "lrpc-server";

    public static Guid InterfaceId { get; } = new("5f0a1c1e-7c1b-4f43-9d5b-0c7f2a9f6a11");

    /// <summary>Serves until its input ends. Answers with the request, its caller and the caller's
    /// process.</summary>
    public static void Run(string name)
    {
        using RpcRawServer server = RpcRawServer.Create(InterfaceId)
            .OnExecute((client, bytes) =>
            {
                if (bytes.AsSpan().SequenceEqual("hang"u8))
                {
                    Say("hangs");
                    Thread.Sleep(Timeout.Infinite);
                }

                return Encoding.UTF8.GetBytes(
                    $"{Encoding.UTF8.GetString(bytes)}|{client.User.Name}|{client.ProcessId}");
            })
            .AddEndpoint(RpcEndpoint.Lrpc(name))
            .StartListening();
        Say("ready");
        while (Console.ReadLine() is not null)
        {
        }
    }

    private static void Say(string line)
    {
        Console.WriteLine(line);
        Console.Out.Flush();
    }
}
