using System.Globalization;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using ProtoRpc.Http.Tests.Streams;
using GrpcException = Grpc.Core.RpcException;
using GrpcStatus = Grpc.Core.Status;

namespace ProtoRpc.Peers;

/// <summary>The service of streams.proto by Grpc.AspNetCore; as with our <see cref="WordsServer"/>, what a
/// text says is what a method does.</summary>
internal sealed class WordsService : Words.WordsBase
{
    /// <summary>Ends when a method waits.</summary>
    public TaskCompletionSource Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Ends when the call of the method that waited is cancelled.</summary>
    public TaskCompletionSource Cancelled { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public override async Task<Text> Say(Text request, ServerCallContext context)
    {
        string[] words = request.Text_.Split(' ');
        switch (words[0])
        {
            case "status":
                throw new GrpcException(
                    new GrpcStatus((StatusCode)Number(words[1]), "Kein Öl: 100 % leer\n"),
                    new Metadata { { "x-last", "of a failure" }, { "x-last-bin", new byte[] { 0, 255 } } });
            case "throw":
                throw new InvalidOperationException("broken");
            case "headers":
                await context.WriteResponseHeadersAsync(
                    new Metadata { { "x-first", context.RequestHeaders.GetValue("x-asked") ?? "none" } });
                context.ResponseTrailers.Add(
                    "x-last-bin", context.RequestHeaders.GetValueBytes("x-asked-bin") ?? []);
                return new Text
                {
                    Text_ = $"{context.RequestHeaders.GetValueBytes("x-asked-bin")?.Length}",
                };
            case "encoding":
                return new Text
                {
                    Text_ = (string?)context.GetHttpContext().Request.Headers["grpc-encoding"] ?? "none",
                    Payload = ByteString.CopyFrom(new byte[10_000]),
                };
            case "deadline":
                return new Text
                {
                    Text_ = context.Deadline == DateTime.MaxValue
                        ? "none"
                        : (context.Deadline - DateTime.UtcNow).TotalSeconds
                            .ToString(CultureInfo.InvariantCulture),
                };
            case "large":
                return new Text { Payload = ByteString.CopyFrom(new byte[Number(words[1])]) };
            case "size":
                return new Text { Text_ = request.Payload.Length.ToString(CultureInfo.InvariantCulture) };
            case "empty":
                return new Text();
            case "details":
                throw Details.ToRpcException();
            case "wait":
                await WaitAsync(context);
                return request;
            case "later":
                // later ATTEMPTS PUSHBACK: fails until there were so many attempts before.
                string? before = context.RequestHeaders.GetValue("grpc-previous-rpc-attempts");
                if (Number(before ?? "0") >= Number(words[1]))
                {
                    return new Text { Text_ = before ?? "" };
                }

                throw new GrpcException(
                    new GrpcStatus(StatusCode.Unavailable, "not now"),
                    new Metadata { { "grpc-retry-pushback-ms", words[2] } });
            default:
                return request;
        }
    }

    /// <summary>A status with details of google.rpc, one of a type that nobody has, and one of the
    /// service.</summary>
    public static Google.Rpc.Status Details { get; } = new()
    {
        Code = (int)Code.FailedPrecondition,
        Message = "with details",
        Details =
        {
            Any.Pack(new BadRequest
            {
                FieldViolations =
                {
                    new BadRequest.Types.FieldViolation { Field = "text", Description = "too long" },
                },
            }),
            Any.Pack(new RetryInfo { RetryDelay = Duration.FromTimeSpan(TimeSpan.FromSeconds(1.5)) }),
            Any.Pack(new ErrorInfo { Reason = "R", Domain = "d.example", Metadata = { ["k"] = "v" } }),
            new Any
            {
                TypeUrl = "type.googleapis.com/nobody.Knows", Value = ByteString.CopyFromUtf8("bytes"),
            },
            Any.Pack(new Text { Text_ = "of the service" }),
        },
    };

    public override async Task Split(
        Text request, IServerStreamWriter<Text> replies, ServerCallContext context)
    {
        foreach (string word in request.Text_.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            switch (word)
            {
                case "wait":
                    await WaitAsync(context);
                    break;
                case "fail":
                    throw new GrpcException(
                        new GrpcStatus(StatusCode.Aborted, "in the middle"),
                        new Metadata { { "x-last", "w" } });
                default:
                    await replies.WriteAsync(new Text { Text_ = word });
                    break;
            }
        }
    }

    public override async Task<Text> Join(IAsyncStreamReader<Text> requests, ServerCallContext context)
    {
        List<string> words = [];
        try
        {
            await foreach (Text request in requests.ReadAllAsync())
            {
                words.Add(request.Text_);
                Waiting.TrySetResult();
                if (request.Text_ == "enough")
                {
                    break;
                }
            }
        }
        catch (Exception) when (context.CancellationToken.IsCancellationRequested)
        {
            Cancelled.TrySetResult();
            throw;
        }

        return new Text { Text_ = string.Join(' ', words) };
    }

    public override async Task Chat(
        IAsyncStreamReader<Text> requests, IServerStreamWriter<Text> replies, ServerCallContext context)
    {
        while (await requests.MoveNext() && requests.Current.Text_ != "bye")
        {
            await replies.WriteAsync(new Text { Text_ = $"{requests.Current.Text_}!" });
        }
    }

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);

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
