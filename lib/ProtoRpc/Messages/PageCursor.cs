using System.Collections;
using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace ProtoRpc.Messages;

/// <summary>Follows the pages of a list: contains the request for the next page, and reads each reply. The
/// caller makes the calls.</summary>
/// <remarks>Not thread-safe.</remarks>
internal sealed class PageCursor
{
    /// <summary>The number of pages without elements in a row that end the list with an error.</summary>
    public const int MaxEmptyPages = 10_000;

    private readonly SeenTokens _seen = new();
    private int _emptyPages;

    /// <param name="method">The method.</param>
    /// <param name="request">The request for the first page, which is copied.</param>
    /// <exception cref="RpcException">InvalidArgument: the method has no pages.</exception>
    public PageCursor(PagedMethod method, IMessage request)
    {
        Method = method;
        Request = request is DynamicMessage dynamic && dynamic.Type == method.Method.RequestType
            ? dynamic.Clone()
            : DynamicMessage.Parse(method.Method.RequestType, request.ToByteArray());
        if (TextOf(Request, method.Token) is { Length: > 0 } first)
        {
            _seen.Add(first);
        }
    }

    /// <summary>The method.</summary>
    public PagedMethod Method { get; }

    /// <summary>The request for the next page.</summary>
    public DynamicMessage Request { get; private set; }

    /// <summary>The elements of a page: messages, strings, byte arrays, boxed numbers, and the numbers of
    /// enums.</summary>
    public IList ElementsOf(DynamicMessage reply) => (IList)reply.Get(Method.Elements)!;

    /// <summary>The names of the places that the server could not ask for a page; empty for none.</summary>
    public IEnumerable<string> UnreachableOf(DynamicMessage reply) =>
        Method.Unreachable is { } field ? ((IList)reply.Get(field)!).Cast<string>() : [];

    /// <summary>Moves to the page after a reply. Call this after the elements of the reply were used.
    /// </summary>
    /// <returns>False after the last page.</returns>
    /// <exception cref="RpcException">Internal: the pages do not end, because a token repeats, or because
    /// very many pages have no elements.</exception>
    public bool MoveNext(DynamicMessage reply)
    {
        string next = TextOf(reply, Method.NextToken);
        if (next.Length == 0)
        {
            return false;
        }

        if (!_seen.Add(next))
        {
            throw Endless("the server returned the same page token a second time");
        }

        _emptyPages = ElementsOf(reply).Count == 0 ? _emptyPages + 1 : 0;
        if (_emptyPages >= MaxEmptyPages)
        {
            throw Endless($"the server returned {MaxEmptyPages:N0} pages without elements in a row");
        }

        // A copy, because an interceptor may still read the previous request.
        Request = Request.Clone();
        Request.Set(Method.Token, next);
        return true;
    }

    private static string TextOf(DynamicMessage message, RpcFieldInfo field) => (string)message.Get(field)!;

    private RpcException Endless(string why) => new(
        RpcStatusCode.Internal, RpcErrorIds.EndlessPages,
        $"The list of {Method.Method.FullName} was ended, because {why}.")
    {
        MethodName = Method.Method.FullName,
    };
}

/// <summary>Detects a token that occurs a second time. Needs a fixed amount of memory, whatever the server
/// sends.</summary>
internal sealed class SeenTokens
{
    // Needs at most 3 MB. The tokens of longer lists are compared with a few earlier ones.
    private const int MaxTokens = 100_000;

    private readonly HashSet<UInt128> _tokens = [];
    private UInt128? _mark;
    private long _untilMark;
    private long _stretch = 1000;

    /// <summary>Adds a token.</summary>
    /// <returns>False if the token was added before. After more than 100,000 tokens, a repetition is found
    /// later, but always.</returns>
    public bool Add(string token)
    {
        // 128 bits of a cryptographic hash, so a server cannot create two tokens with the same key.
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(MemoryMarshal.AsBytes(token.AsSpan()), hash);
        UInt128 key = MemoryMarshal.Read<UInt128>(hash);
        if (_tokens.Count < MaxTokens)
        {
            return _tokens.Add(key);
        }

        // Brent's algorithm: each token is compared with one earlier token, which is replaced after 1, 2, 4,
        // 8... tokens. Once this distance exceeds the length of a cycle, the cycle is found.
        if (_tokens.Contains(key) || key == _mark)
        {
            return false;
        }

        if (_untilMark-- == 0)
        {
            _mark = key;
            _stretch *= 2;
            _untilMark = _stretch;
        }

        return true;
    }
}
