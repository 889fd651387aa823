using System.Net;
using System.Net.Http.Headers;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Answers requests of a client in turn, without a server; the last answer is repeated. Also has a
/// service whose methods declare their effects.</summary>
internal sealed class ScriptedAnswers(params Func<HttpResponseMessage>[] answers) : HttpMessageHandler
{
    /// <summary>The methods Order, Set (IDEMPOTENT) and Get (NO_SIDE_EFFECTS) of the service
    /// retries.Stock.</summary>
    public static RpcSchema Schema { get; } = CreateSchema();

    /// <summary>The number of requests.</summary>
    public int Count { get; private set; }

    /// <summary>The header grpc-previous-rpc-attempts of each request; empty for none.</summary>
    public List<string> PreviousAttempts { get; } = [];

    public RpcClient Connect(string scheme, RpcClientOptions options) => RpcClient.Connect(
        $"{scheme}://127.0.0.1:1", Schema,
        options with { Lazy = true, Service = "retries.Stock", HttpHandler = () => this });

    /// <summary>An answer of HTTP, such as that of a proxy.</summary>
    public static HttpResponseMessage Proxy(int status, params (string Name, string Value)[] headers)
    {
        HttpResponseMessage answer = new((HttpStatusCode)status)
        {
            Content = new StringContent("a proxy", Encoding.UTF8, "text/html"),
        };
        Add(answer.Headers, headers);
        return answer;
    }

    /// <summary>An answer of gRPC: a status without replies.</summary>
    public static HttpResponseMessage Status(
        RpcStatusCode status, params (string Name, string Value)[] trailers)
    {
        HttpResponseMessage answer = OfGrpc([]);
        Add(answer.Headers, [("grpc-status", $"{(int)status}"), .. trailers]);
        return answer;
    }

    /// <summary>The reply of a method over gRPC, and the status behind it.</summary>
    public static HttpResponseMessage Reply(
        RpcStatusCode status = RpcStatusCode.OK, params (string Name, string Value)[] trailers)
    {
        HttpResponseMessage answer = OfGrpc(new byte[5]);
        Add(answer.TrailingHeaders, [("grpc-status", $"{(int)status}"), .. trailers]);
        return answer;
    }

    protected override Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        PreviousAttempts.Add(
            request.Headers.NonValidated.TryGetValues(
                "grpc-previous-rpc-attempts", out HeaderStringValues values)
                ? values.ToString()
                : "");
        Func<HttpResponseMessage> answer = answers[Math.Min(Count++, answers.Length - 1)];
        try
        {
            return Task.FromResult(answer());
        }
        catch (HttpRequestException e)
        {
            return Task.FromException<HttpResponseMessage>(e);
        }
    }

    private static HttpResponseMessage OfGrpc(byte[] body)
    {
        HttpResponseMessage answer = new(HttpStatusCode.OK)
        {
            Version = HttpVersion.Version20,
            Content = new ByteArrayContent(body),
        };
        answer.Content.Headers.ContentType = new("application/grpc");
        return answer;
    }

    private static void Add(HttpHeaders headers, (string Name, string Value)[] added)
    {
        foreach ((string name, string value) in added)
        {
            headers.TryAddWithoutValidation(name, value);
        }
    }

    private static RpcSchema CreateSchema()
    {
        MethodDescriptorProto Method(
            string name, MethodOptions.Types.IdempotencyLevel level, bool streams = false) => new()
            {
                Name = name,
                InputType = ".retries.Item",
                OutputType = ".retries.Item",
                ServerStreaming = streams,
                Options = new() { IdempotencyLevel = level },
            };
        FileDescriptorProto file = new()
        {
            Name = "retries.proto",
            Package = "retries",
            Syntax = "proto3",
            MessageType = { new DescriptorProto { Name = "Item" } },
            Service =
            {
                new ServiceDescriptorProto
                {
                    Name = "Stock",
                    Method =
                    {
                        Method("Order", MethodOptions.Types.IdempotencyLevel.IdempotencyUnknown),
                        Method("Set", MethodOptions.Types.IdempotencyLevel.Idempotent),
                        Method("Get", MethodOptions.Types.IdempotencyLevel.NoSideEffects),
                        Method("Watch", MethodOptions.Types.IdempotencyLevel.NoSideEffects, streams: true),
                    },
                },
            },
        };
        return RpcSchema.FromDescriptorSet(new FileDescriptorSet { File = { file } }.ToByteArray());
    }
}
