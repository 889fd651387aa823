using System.Security.Cryptography;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using GrpcException = Grpc.Core.RpcException;
using GrpcStatus = Grpc.Core.Status;

namespace ProtoRpc.Peers.Stubs;

/// <summary>A service as it is written for Grpc.AspNetCore. What a text says is what a method does.</summary>
internal sealed class CaseService : Cases.CasesBase
{
    /// <summary>The header that a call gets back.</summary>
    public const string Initial = "x-case-initial";

    /// <summary>The trailer that a call gets back.</summary>
    public const string Trailing = "x-case-trailing-bin";

    /// <summary>Ends when a method waits.</summary>
    public TaskCompletionSource Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Ends when the call of the method that waited is cancelled.</summary>
    public TaskCompletionSource Cancelled { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public override Task<Empty> Empty(Empty request, ServerCallContext context) =>
        Task.FromResult(new Empty());

    public override async Task<CaseReply> Unary(CaseRequest request, ServerCallContext context)
    {
        await EchoMetadataAsync(context);
        switch (request.Text)
        {
            case "wait":
                await WaitAsync(context);
                break;
            case "details":
                throw new Google.Rpc.Status
                {
                    Code = (int)Code.InvalidArgument,
                    Message = "wrong fields",
                    Details =
                    {
                        Any.Pack(new BadRequest
                        {
                            FieldViolations =
                            {
                                new BadRequest.Types.FieldViolation { Field = "text", Description = "no" },
                            },
                        }),
                        Any.Pack(new CaseReply { Text = "of the service" }),
                    },
                }.ToRpcException();
            case "status":
                context.Status = new GrpcStatus((StatusCode)request.Status, "set on the context");
                break;
            case "context":
                return new CaseReply { Text = Describe(context) };
            default:
                Fail(request);
                break;
        }

        return new CaseReply
        {
            Text = Convert.ToHexString(SHA256.HashData(request.Payload.Span)),
            Payload = ByteString.CopyFrom(new byte[request.ReplySizes.FirstOrDefault()]),
        };
    }

    public override async Task<CaseReply> ClientStream(
        IAsyncStreamReader<CaseRequest> requests, ServerCallContext context)
    {
        int total = 0;
        try
        {
            while (await requests.MoveNext(CancellationToken.None))
            {
                Fail(requests.Current);
                total += requests.Current.Payload.Length;
                Waiting.TrySetResult();
            }
        }
        catch (Exception) when (context.CancellationToken.IsCancellationRequested)
        {
            Cancelled.TrySetResult();
            throw;
        }

        return new CaseReply { Total = total };
    }

    public override async Task ServerStream(
        CaseRequest request, IServerStreamWriter<CaseReply> replies, ServerCallContext context)
    {
        await EchoMetadataAsync(context);
        foreach (int size in request.ReplySizes)
        {
            await replies.WriteAsync(new CaseReply { Payload = ByteString.CopyFrom(new byte[size]) });
        }

        if (request.Text == "wait")
        {
            await WaitAsync(context);
        }

        Fail(request);
    }

    public override async Task Duplex(
        IAsyncStreamReader<CaseRequest> requests, IServerStreamWriter<CaseReply> replies,
        ServerCallContext context)
    {
        await EchoMetadataAsync(context);
        try
        {
            await foreach (CaseRequest request in requests.ReadAllAsync(context.CancellationToken))
            {
                Fail(request);
                foreach (int size in request.ReplySizes)
                {
                    await replies.WriteAsync(new CaseReply
                    {
                        Text = request.Text,
                        Payload = ByteString.CopyFrom(new byte[size]),
                    });
                }
            }
        }
        catch (Exception) when (context.CancellationToken.IsCancellationRequested)
        {
            Cancelled.TrySetResult();
            throw;
        }
    }

    private static void Fail(CaseRequest request)
    {
        if (request.Status != 0)
        {
            throw new GrpcException(
                new GrpcStatus((StatusCode)request.Status, request.Text),
                new Metadata { { "x-failed", "yes" } });
        }
    }

    private static async Task EchoMetadataAsync(ServerCallContext context)
    {
        if (context.RequestHeaders.GetValue(Initial) is { } initial)
        {
            await context.WriteResponseHeadersAsync(new Metadata { { Initial, initial } });
        }

        if (context.RequestHeaders.GetValueBytes(Trailing) is { } trailing)
        {
            context.ResponseTrailers.Add(Trailing, trailing);
        }
    }

    private static string Describe(ServerCallContext context)
    {
        StringBuilder text = new();
        text.Append(context.Method).Append('|');
        text.Append(context.Deadline == DateTime.MaxValue ? "none" : "deadline").Append('|');
        text.Append(context.RequestHeaders.GetValue("authorization") ?? "anonymous").Append('|');
        text.Append(context.Peer.Length > 0 && context.Host.Length > 0 ? "named" : "nameless").Append('|');
        return text.Append(context.AuthContext.IsPeerAuthenticated).ToString();
    }

    private async Task WaitAsync(ServerCallContext context)
    {
        Waiting.TrySetResult();
        try
        {
            await Task.Delay(TimeSpan.FromMinutes(1), context.CancellationToken);
        }
        catch (OperationCanceledException)
        {
            Cancelled.TrySetResult();
            throw;
        }
    }
}

/// <summary>A service whose file declares no messages.</summary>
internal sealed class StrictService : Strict.StrictBase
{
    public override Task<Needs> Need(Needs request, ServerCallContext context) =>
        Task.FromResult(new Needs { Text = $"{request.Text}!" });
}
