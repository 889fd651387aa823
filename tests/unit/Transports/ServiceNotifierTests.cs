using System.Net.Sockets;
using System.Text;
using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

public static class ServiceNotifierTests
{
    [Fact]
    public static void There_is_none_without_a_service_manager()
    {
        Assert.Null(ServiceNotifier.Create(_ => null));
        Assert.Null(ServiceNotifier.Create(_ => ""));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static void States_arrive_as_datagrams(bool isAbstract)
    {
        if (OperatingSystem.IsWindows() || (isAbstract && !OperatingSystem.IsLinux()))
        {
            return;
        }

        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string path = Path.Combine(folder.FullName, "notify");
            using Socket manager = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
            {
                ReceiveTimeout = 10_000,
            };
            manager.Bind(new UnixDomainSocketEndPoint(isAbstract ? $"\0{path}" : path));
            using ServiceNotifier notifier = ServiceNotifier.Create(name =>
                name == "NOTIFY_SOCKET" ? (isAbstract ? $"@{path}" : path) : null)!;

            notifier.Ready("line\none \u001b[31m");
            notifier.Alive();
            notifier.Stopping();

            string ready = Receive(manager);
            Assert.StartsWith("READY=1\nSTATUS=line one ", ready, StringComparison.Ordinal);
            Assert.DoesNotContain('\u001b', ready);
            Assert.Equal("WATCHDOG=1", Receive(manager));
            Assert.Equal("STOPPING=1", Receive(manager));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Theory]
    [InlineData("3000000", null, 1500.0)]
    [InlineData("3000000", "", 1500.0)]
    [InlineData("3000000", "self", 1500.0)]
    [InlineData("3000000", "1", null)]
    [InlineData("1", null, 1.0)]
    [InlineData("0", null, null)]
    [InlineData("-1", null, null)]
    [InlineData("soon", null, null)]
    [InlineData("", null, null)]
    [InlineData(null, null, null)]
    [InlineData("9223372036854775807", null, null)]
    public static void The_watchdog_is_served_twice_in_its_time(
        string? micros, string? process, double? expected)
    {
        using ServiceNotifier notifier = ServiceNotifier.Create(name => name switch
        {
            "NOTIFY_SOCKET" => "/nowhere",
            "WATCHDOG_USEC" => micros,
            "WATCHDOG_PID" => process == "self" ? $"{Environment.ProcessId}" : process,
            _ => null,
        })!;

        Assert.Equal(expected, notifier.WatchdogInterval?.TotalMilliseconds);
    }

    [Theory]
    [InlineData("relative")]
    [InlineData("vsock:2:1")]
    [InlineData("/too/long")]
    public static void An_address_that_is_none_is_an_error_that_names_it(string socket)
    {
        string given = socket == "/too/long" ? $"/{new string('x', 200)}" : socket;

        RpcException e = Assert.Throws<RpcException>(
            () => ServiceNotifier.Create(name => name == "NOTIFY_SOCKET" ? given : null));

        Assert.Equal(RpcErrorIds.InvalidNotifySocket, e.ErrorId);
        Assert.Contains(given, e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_manager_that_is_not_there_is_an_error()
    {
        using ServiceNotifier notifier =
            ServiceNotifier.Create(name => name == "NOTIFY_SOCKET" ? "/nowhere/at/all" : null)!;

        RpcException e = Assert.Throws<RpcException>(() => notifier.Ready("x"));

        Assert.Equal(RpcErrorIds.ServiceManagerUnreachable, e.ErrorId);
    }

    private static string Receive(Socket socket)
    {
        byte[] buffer = new byte[1000];
        return Encoding.UTF8.GetString(buffer, 0, socket.Receive(buffer));
    }
}
