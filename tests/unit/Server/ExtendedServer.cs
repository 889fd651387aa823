using Google.Protobuf;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Server;

/// <summary>A service whose schema extends the headers of the native protocol, with a handler that the test
/// gives.</summary>
internal static class ExtendedServer
{
    public const string RequestHeader = "google.protobuf.rpc_messages.RpcRequestHeader";
    public const string ResponseHeader = "google.protobuf.rpc_messages.RpcResponseHeader";
    public const string ExceptionInfo = "google.protobuf.rpc_messages.RpcExceptionInfo";

    // Some numbers are taken by the protocol's own extensions: a schema that has them shadows nothing.
    private const string Source = """
        syntax = "proto2";
        package ext;
        import "rpc_messages.proto";
        message Span {
          optional string id = 1;
          repeated int32 path = 2 [packed = true];
          required bool sampled = 3;
        }
        message Text { optional bytes text = 1; }
        extend google.protobuf.rpc_messages.RpcRequestHeader {
          optional string tenant = 1000;
          optional Span span = 536870911;
          repeated string tags = 2000;
          optional uint32 mine = 41001;
          optional bytes theirs = 41002;
        }
        extend google.protobuf.rpc_messages.RpcResponseHeader {
          optional string node = 1000;
          optional Span cost = 1001;
          optional int32 status = 41001;
        }
        extend google.protobuf.rpc_messages.RpcExceptionInfo {
          optional int32 retry_after = 100;
          repeated string hints = 101;
          optional string display = 41001;
        }
        service Extended { rpc Do (Text) returns (Text); }
        """;

    public static RpcSchema Schema { get; } = ReplyMismatchTests.Load(Source);

    public static RpcServer Start(Action<RpcServerCallContext> handler, RpcServerOptions? options = null) =>
        RpcServer.Create(Schema, "ext.Extended", options)
            .Handle("Do", (context, _) =>
            {
                handler(context);
                return ValueTask.FromResult<IMessage>(new DynamicMessage(context.Method.ReplyType));
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

    public static RpcClient Connect(RpcServer server, RpcClientOptions? options = null) => RpcClient.Connect(
        server.Endpoints[0], Schema, (options ?? new RpcClientOptions()) with { Service = "ext.Extended" });

    public static void Do(RpcClient client, RpcCallOptions? options = null, int size = 0)
    {
        RpcMethodInfo method = client.GetMethod("Do");
        DynamicMessage request = new(method.RequestType);
        request.Set(method.RequestType.FindField("text")!, new byte[size]);
        client.Invoke(method, request, options ?? new RpcCallOptions());
    }

    public static void SetNode(RpcServerCallContext context) =>
        context.ReplyExtensions.Set(context.ReplyExtensions.Type.FindField("[ext.node]")!, "n1");

    /// <summary>A message with some of its fields.</summary>
    public static DynamicMessage Message(string type, params (string Name, object Value)[] fields)
    {
        DynamicMessage message = new(Schema.GetMessage(type));
        foreach ((string name, object value) in fields)
        {
            message.Set(message.Type.FindField(name)!, value);
        }

        return message;
    }

    public static object? Get(this DynamicMessage message, string name) =>
        message.Get(message.Type.FindField(name)!);
}
