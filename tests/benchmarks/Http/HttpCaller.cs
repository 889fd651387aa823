using ProtoRpc.Benchmarks.Messages;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>Calls the method Test over HTTP or gRPC with our client, with a new message each
/// time; the callers of a process share the client.</summary>
internal sealed class HttpCaller : IAsyncCaller
{
    private readonly RpcClient _client;
    private readonly RpcMethodInfo _method;
    private readonly DynamicRecords? _dynamic;
    private readonly int _records;

    private HttpCaller(RpcClient client, HttpStack stack, int records)
    {
        _client = client;
        _method = client.GetMethod($"{stack.Service}/Test");
        _dynamic = stack.Messages == CallKind.Dynamic ? new DynamicRecords(_method.RequestType) : null;
        _records = records;
    }

    /// <param name="stack">How they call.</param>
    /// <param name="address">The endpoint of the server.</param>
    /// <param name="records">In each request.</param>
    /// <param name="count">How many callers.</param>
    public static ICaller[] Connect(HttpStack stack, string address, int records, int count)
    {
        MessageFormats.TryFind(stack.Format, out MessageFormat? format);
        RpcClient client = RpcClient.Connect(
            stack.ClientAddress(address), SampleData.LoadSchema(stack.SchemaFile),
            new RpcClientOptions { Format = format ?? MessageFormats.Binary });
        return [.. Enumerable.Range(0, count).Select(_ =>
        {
            HttpCaller caller = new(client, stack, records);
            return stack.IsBlocking ? new BlockingCaller(caller) : (ICaller)caller;
        })];
    }

    /// <summary>The server of these callers.</summary>
    /// <param name="stack">How they call.</param>
    /// <param name="address">Where to listen.</param>
    /// <param name="records">In each reply.</param>
    public static RpcServer Serve(HttpStack stack, string address, int records) =>
        FreshCaller.Serve(
            stack.Messages, SampleData.LoadSchema(stack.SchemaFile), address, records, stack.Service);

    public void Call() => CallAsync().GetAwaiter().GetResult();

    public async Task CallAsync()
    {
        if (_dynamic is not null)
        {
            await _client.InvokeAsync(_method, _dynamic.Make(_records)).ConfigureAwait(false);
        }
        else
        {
            await _client.InvokeAsync<SampleResponse>(_method, Request()).ConfigureAwait(false);
        }
    }

    public void Dispose() => _client.Dispose();

    private SampleRequest Request()
    {
        SampleRequest request = new();
        FreshRecords.Fill(request.Data, _records);
        return request;
    }

    private sealed class BlockingCaller(HttpCaller caller) : ICaller
    {
        public void Call()
        {
            if (caller._dynamic is not null)
            {
                caller._client.Invoke(caller._method, caller._dynamic.Make(caller._records));
            }
            else
            {
                caller._client.Invoke<SampleResponse>(caller._method, caller.Request());
            }
        }

        public void Dispose() => caller.Dispose();
    }
}
