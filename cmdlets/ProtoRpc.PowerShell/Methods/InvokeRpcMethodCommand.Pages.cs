using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Methods;

namespace ProtoRpc;

public sealed partial class InvokeRpcMethodCommand
{
    private RequestReader? _requests;
    private ReplyObjects? _replies;

    [Parameter]
    public SwitchParameter All { get; set; }

    private RequestReader Requests => _requests ??= new RequestReader(AllowUnknownField);

    private ReplyObjects Replies => _replies ??= new ReplyObjects(AsHashtable, Raw);

    private void CheckPages(RpcMethodInfo method)
    {
        if (All)
        {
            _ = PagedMethod.Create(method);
        }
    }

    // Each page is a call. When the pipeline stops early, writing throws, so no further page is called.
    private void CallPages(RpcClient client, RpcMethodInfo method)
    {
        PagedMethod paged = PagedMethod.Create(method);
        PageCursor cursor = new(paged, Requests.Read(method, Request));
        WriteRepeat(client, method, [cursor.Request]);
        DynamicMessage reply;
        do
        {
            RpcReplyInfo? info = NewInfo(client);
            try
            {
                reply = Invoke(client, method, cursor.Request, Options(info, method: method));
            }
            finally
            {
                SetVariables(info);
            }

            // The call is not repeated from here on, because written elements would be written again.
            _renewed = true;
            WriteElements(client, cursor, reply, info);
        }
        while (cursor.MoveNext(reply));
    }

    private void WriteElements(RpcClient client, PageCursor cursor, DynamicMessage reply, RpcReplyInfo? info)
    {
        RpcEndpoint server = info?.Endpoint ?? client.Endpoint;
        Replies.CheckSchema(reply, server, WriteWarning);
        WarnOfUnreachable(cursor, reply, WriteWarning);
        foreach (object element in cursor.ElementsOf(reply))
        {
            object? shown = Replies.ToObject(element, cursor.Method.Elements);
            WriteObject(
                client.Endpoints.Count > 1 && shown is not null ? ReplyObjects.Tag(shown, server) : shown);
        }
    }

    private static void WarnOfUnreachable(PageCursor cursor, DynamicMessage reply, Action<string> warn)
    {
        const int MaxNames = 5;
        string[] names = [.. cursor.UnreachableOf(reply).Take(MaxNames + 1)];
        if (names.Length > 0)
        {
            warn(
                $"The list of {cursor.Method.Method.FullName} is not complete. The server could not reach "
                + string.Join(", ", names.Take(MaxNames)) + (names.Length > MaxNames ? ", ..." : "."));
        }
    }

    // The same for parallel calls: reads all pages.
    private Func<CancellationToken, IAsyncEnumerable<object>> PagesOver(
        RpcClient client, RpcMethodInfo method, List<DynamicMessage> requests, RpcCallOptions options)
    {
        RpcFieldInfo field = PagedMethod.Create(method).Elements;
        return cancellation => client.InvokeAllAsync(method, requests[0], options, cancellation)
            .Select(element => element is DynamicMessage ? element : Replies.ToObject(element, field)!);
    }
}
