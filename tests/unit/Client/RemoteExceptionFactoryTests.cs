using ProtoRpc.Client;

namespace ProtoRpc.Tests.Client;

public static class RemoteExceptionFactoryTests
{
    private const string Core = "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089";

    [Theory]
    [InlineData("System.InvalidOperationException", Core, RpcExceptionTypes.None, false)]
    [InlineData("System.InvalidOperationException", Core, RpcExceptionTypes.CoreLibrary, true)]
    [InlineData("System.InvalidOperationException", "Whatever", RpcExceptionTypes.CoreLibrary, true)]
    [InlineData("System.InvalidOperationException", Core, RpcExceptionTypes.LoadedAssemblies, true)]
    [InlineData("System.String", Core, RpcExceptionTypes.LoadAny, false)]
    [InlineData("System.Exception, evil", Core, RpcExceptionTypes.LoadAny, false)]
    [InlineData("System.Collections.Generic.List`1", Core, RpcExceptionTypes.LoadAny, false)]
    [InlineData("No.Such", Core, RpcExceptionTypes.LoadAny, false)]
    [InlineData("System.InvalidOperationException\n", Core, RpcExceptionTypes.CoreLibrary, false)]
    [InlineData(
        "ProtoRpc.Tests.Client.PlainException", "ProtoRpc.Tests", RpcExceptionTypes.CoreLibrary, false)]
    [InlineData(
        "ProtoRpc.Tests.Client.PlainException", "ProtoRpc.Tests", RpcExceptionTypes.LoadedAssemblies, true)]
    [InlineData("ProtoRpc.Tests.Client.PlainException", "no-such-assembly", RpcExceptionTypes.LoadAny, false)]
    [InlineData("ProtoRpc.Tests.Client.PlainException", "../x", RpcExceptionTypes.LoadAny, false)]
    [InlineData(
        "ProtoRpc.Tests.Client.PlainException", "ProtoRpc.Tests, CodeBase=file:///x",
        RpcExceptionTypes.LoadAny, false)]
    [InlineData("ProtoRpc.Tests.Client.PlainException", "a, b=c, =", RpcExceptionTypes.LoadAny, false)]
    [InlineData("ProtoRpc.Tests.Client.PlainException", "", RpcExceptionTypes.LoadAny, false)]
    [InlineData(
        "ProtoRpc.Tests.Client.AbstractException", "ProtoRpc.Tests", RpcExceptionTypes.LoadAny, false)]
    [InlineData(
        "ProtoRpc.Tests.Client.ThrowingException", "ProtoRpc.Tests", RpcExceptionTypes.LoadAny, false)]
    public static void Makes_only_what_is_allowed_and_an_exception(
        string type, string assembly, RpcExceptionTypes allowed, bool made)
    {
        Exception? exception = RemoteExceptionFactory.Create(
            new RpcRemoteException(type, assembly, "why"), allowed);

        Assert.Equal(made, exception is not null);
        if (exception is not null)
        {
            Assert.Equal(type, exception.GetType().FullName);
            Assert.Equal("why", exception.Message);
        }
    }

    [Fact]
    public static void Loads_a_strong_named_assembly_only_when_asked()
    {
        // Ships with the runtime and is not loaded by anything here.
        RpcRemoteException remote = new(
            "System.Xml.Schema.XmlSchemaException",
            "System.Private.Xml, Version=10.0.0.0, Culture=neutral, PublicKeyToken=cc7b13ffcd2ddd51",
            "why");

        Exception? loaded = RemoteExceptionFactory.Create(remote, RpcExceptionTypes.LoadStrongNamed);
        Exception? unsigned = RemoteExceptionFactory.Create(
            remote with { AssemblyName = "No.Such.Assembly, Version=1.0.0.0" },
            RpcExceptionTypes.LoadStrongNamed);

        Assert.Equal("System.Xml.Schema.XmlSchemaException", loaded?.GetType().FullName);
        Assert.Null(unsigned);
    }

    [Theory]
    [InlineData("System.ArgumentNullException", Core, true)]
    [InlineData("System.ArgumentOutOfRangeException", Core, true)]
    [InlineData("System.AggregateException", Core, true)]
    [InlineData("System.ObjectDisposedException", Core, true)]
    [InlineData("System.ArgumentException", Core, true)]
    [InlineData("System.TimeoutException", Core, true)]
    [InlineData("System.IO.InvalidDataException", "System, Version=4.0.0.0", true)]
    [InlineData("System.UriFormatException", "System, Version=4.0.0.0", true)]
    [InlineData("System.UriFormatException", "System.Xml, Version=4.0.0.0", false)]
    [InlineData("System.TypeInitializationException", Core, false)]
    public static void The_message_is_the_remote_one_and_never_the_name_of_a_parameter(
        string type, string assembly, bool isMade)
    {
        RpcRemoteException remote = new(type, assembly, "Must be there. (Parameter 'order')");

        Exception? made = RemoteExceptionFactory.Create(remote, RpcExceptionTypes.LoadedAssemblies);

        Assert.Equal(isMade ? type : null, made?.GetType().FullName);
        Assert.Equal(isMade ? remote.Message : null, made?.Message);
    }

    [Fact]
    public static void The_exception_of_a_server_is_the_inner_exception_of_the_clients()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "why" }));

        Assert.Equal("why", Assert.IsType<InvalidOperationException>(error.InnerException).Message);
    }

    [Fact]
    public static void Many_threads_make_exceptions_at_once()
    {
        RpcRemoteException remote = new("System.IO.IOException", "mscorlib", "x");

        Parallel.For(0, 1000, _ => Assert.IsType<IOException>(
            RemoteExceptionFactory.Create(remote, RpcExceptionTypes.LoadedAssemblies)));
    }
}

/// <summary>An exception that can be made of its message.</summary>
public sealed class PlainException(string message) : Exception(message);

/// <summary>One of which there are no objects.</summary>
public abstract class AbstractException(string message) : Exception(message);

/// <summary>One whose constructor fails.</summary>
public sealed class ThrowingException : Exception
{
    /// <summary>Fails.</summary>
    public ThrowingException(string message)
        : base(message) => throw new ArgumentException("not so");
}
