using Google.Protobuf;
using Google.Rpc;
using Grpc.Core;
using Grpc.Net.Client;
using ProtoRpc.Http.Tests.Streams;
using GrpcException = Grpc.Core.RpcException;

namespace ProtoRpc.Peers;

/// <summary>Details of a status, written and read by Grpc.StatusProto on the other side.</summary>
[PeerCall("Grpc.AspNetCore", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.ErrorDetails)]
[PeerCall("Grpc.Net.Client", "gRPC", PeerSide.Client, PeerCalls.Unary | PeerCalls.ErrorDetails)]
public static class StatusDetailsTests
{
    [Fact]
    public static async Task Our_client_decodes_what_ToRpcException_writes()
    {
        await using PeerApplication server = await PeerApplication.StartWordsAsync();
        using RpcClient client = server.Connect();

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<Text>("Say", new Text { Text_ = "details" }));

        Assert.Equal((RpcStatusCode.FailedPrecondition, "with details"), (error.Code, error.Message));
        DynamicMessage[] details = [.. error.Details.Cast<DynamicMessage>()];
        Assert.Equal(
            [
                "google.rpc.BadRequest", "google.rpc.RetryInfo", "google.rpc.ErrorInfo",
                "google.protobuf.Any", "streams.Text",
            ],
            details.Select(detail => detail.Type.FullName));
        Assert.Equal("type.googleapis.com/nobody.Knows", details[3]["type_url"]);
        Assert.Equal("of the service", details[4]["text"]);

        // Byte by byte what the server put in.
        Assert.Equal(
            WordsService.Details.Details.Select((any, i) => i == 3 ? any.ToByteString() : any.Value),
            details.Select(detail => detail.ToByteString()));
    }

    [Fact]
    public static async Task GetRpcStatus_reads_what_our_server_writes()
    {
        IMessage[] details =
        [
            new BadRequest
            {
                FieldViolations =
                {
                    new BadRequest.Types.FieldViolation { Field = "text", Description = "too long" },
                },
            },
            new RetryInfo { RetryDelay = new() { Seconds = 2 } },
            new QuotaFailure { Violations = { new QuotaFailure.Types.Violation { Subject = "s" } } },
            WordsService.Details.Details[3],
            new Text { Text_ = "of the service" },
        ];
        using RpcServer server = RpcServer
            .Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (_, _) => throw new RpcException(RpcStatusCode.ResourceExhausted, "Kein Öl\n")
            {
                Details = details,
            })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoints[0]);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            async () => await new Words.WordsClient(channel).SayAsync(new Text()));
        Google.Rpc.Status status = error.GetRpcStatus()!;

        Assert.Equal(StatusCode.ResourceExhausted, error.StatusCode);
        Assert.Equal(((int)Code.ResourceExhausted, "Kein Öl\n"), (status.Code, status.Message));
        Assert.Equal(details[0], status.GetDetail<BadRequest>());
        Assert.Equal(details[1], status.GetDetail<RetryInfo>());
        Assert.Equal(details[2], status.Details[2].Unpack<QuotaFailure>());
        Assert.Equal(details[3], status.Details[3]);
        Assert.Equal(details[4], status.Details[4].Unpack<Text>());
    }

    [Fact]
    public static async Task A_status_of_ours_without_details_has_none_for_Grpc_StatusProto()
    {
        using WordsServer server = new();
        using GrpcChannel channel = GrpcNetClient.Open(server.Endpoint);

        GrpcException error = await Assert.ThrowsAsync<GrpcException>(
            async () => await new Words.WordsClient(channel).SayAsync(new Text { Text_ = "unavailable" }));

        Assert.Equal(StatusCode.Unavailable, error.StatusCode);
        Assert.Null(error.GetRpcStatus());
    }
}
