using System.Runtime.CompilerServices;
using ProtoRpc.Messages;

namespace ProtoRpc;

public sealed partial class RpcClient
{
    /// <summary>Returns the elements of a list to its end, for a method that returns it in pages: the request
    /// has the string field <c>page_token</c>, and the reply has the string field <c>next_page_token</c> and
    /// one repeated field. Most such requests also have a field <c>page_size</c>.</summary>
    /// <remarks>https://google.aip.dev/158</remarks>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="request">The request for the first page: a message, or an object or dictionary with its
    /// fields. If it has a <c>page_token</c>, the list begins at that page.</param>
    /// <param name="options">The options of each call. <see cref="RpcCallOptions.Timeout"/> is the time of
    /// one page, and <see cref="RpcCallOptions.Deadline"/> the end of all pages.</param>
    /// <param name="cancellationToken">Cancels the call that is running.</param>
    /// <returns>The elements: messages as <see cref="DynamicMessage"/>, strings, byte arrays, boxed numbers,
    /// and the numbers of enums. A page is called when the elements of the page before it have been read, so
    /// leaving the loop early makes no further call. The repeated string field <c>unreachable</c>
    /// (https://google.aip.dev/217) is not part of the list.</returns>
    /// <exception cref="RpcException">A call failed, with the server's status; the elements before it have
    /// been returned. InvalidArgument with the id NotPaged: the method does not return a list in pages.
    /// InvalidArgument: the request does not fit the method. NotFound: the method does not exist.
    /// FailedPrecondition: there is no schema for the name. Internal with the id EndlessPages: a token came a
    /// second time, or 10,000 pages in a row have no elements.</exception>
    public IAsyncEnumerable<object> InvokeAllAsync(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeAllAsync(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeAllAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public IAsyncEnumerable<object> InvokeAllAsync(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(request);
        PagedMethod paged = PagedMethod.Create(method);
        IMessage first = RequestOf(method, request);
        return ElementsAsync(
            paged, first, (page, cancellation) => InvokeAsync(method, page, options, cancellation),
            cancellationToken);
    }

    /// <summary>The elements of all pages.</summary>
    /// <param name="method">The method.</param>
    /// <param name="first">The request for the first page.</param>
    /// <param name="call">Calls one page.</param>
    /// <param name="cancellation">Cancels the call that is running.</param>
    internal static async IAsyncEnumerable<object> ElementsAsync(
        PagedMethod method, IMessage first,
        Func<DynamicMessage, CancellationToken, Task<DynamicMessage>> call,
        [EnumeratorCancellation] CancellationToken cancellation)
    {
        PageCursor cursor = new(method, first);
        DynamicMessage reply;
        do
        {
            reply = await call(cursor.Request, cancellation).ConfigureAwait(false);
            foreach (object element in cursor.ElementsOf(reply))
            {
                yield return element;
            }
        }
        while (cursor.MoveNext(reply));
    }
}
