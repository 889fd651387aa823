using System.Buffers;
using System.Text;

namespace ProtoRpc.Server;

/// <summary>A service of a server: its methods by name.</summary>
internal sealed class ServerService(RpcServiceInfo info, Guid interfaceId) : IIntercepted
{
    private const int MaxShortName = 128;

    // Replaced as a whole once the server listens: each call reads it once.
    private volatile Dictionary<string, ServerMethod> _methods = new(StringComparer.Ordinal);
    private RpcHandler? _fallback;
    private bool _isComplete;

    public RpcServiceInfo Info { get; } = info;

    public Guid InterfaceId { get; } = interfaceId;

    public void Add(ServerMethod method)
    {
        if (!_methods.TryAdd(method.Info.Name, method))
        {
            throw new RpcException(
                RpcStatusCode.AlreadyExists, $"{method.Info.FullName} has a handler already.");
        }
    }

    /// <summary>Whether a method has its own handler.</summary>
    public bool Has(RpcMethodInfo method) => _methods.ContainsKey(method.Name);

    public void AddFallback(RpcHandler handler) => _fallback = handler;

    /// <summary>Gives every method that has no handler the common one, or one that says so, and puts the
    /// interceptors around all. A second time, after an endpoint could not be bound, does nothing.</summary>
    public void Complete(IReadOnlyList<IRpcInterceptor> interceptors)
    {
        if (_isComplete)
        {
            return;
        }

        _isComplete = true;
        _methods = Completed(_methods, _fallback, interceptors);
    }

    /// <summary>The methods with other handlers, for <see cref="Publish"/>.</summary>
    /// <param name="handlers">The handlers by the bare names of their methods; null for those that there
    /// are.</param>
    /// <param name="interceptors">What stands around them.</param>
    /// <exception cref="RpcException">A handler does not fit its method.</exception>
    public Dictionary<string, ServerMethod> Prepare(
        IReadOnlyDictionary<string, RpcMethodHandler>? handlers,
        IReadOnlyList<IRpcInterceptor> interceptors) =>
        handlers is null
            ? _methods.ToDictionary(
                pair => pair.Key, pair => pair.Value.With(interceptors), StringComparer.Ordinal)
            : Completed(
                handlers.ToDictionary(
                    pair => pair.Key, pair => pair.Value.Bind(Info.FindMethod(pair.Key)!),
                    StringComparer.Ordinal),
                fallback: null, interceptors);

    /// <summary>Serves calls that begin later with these methods.</summary>
    public void Publish(Dictionary<string, ServerMethod> methods) => _methods = methods;

    /// <summary>Puts other interceptors around methods of ProtoRpc's own.</summary>
    public void Intercept(IReadOnlyList<IRpcInterceptor> interceptors)
    {
        foreach (ServerMethod method in _methods.Values)
        {
            method.Intercept(interceptors);
        }
    }

    /// <summary>The method of a bare name, spelt as in the .proto.</summary>
    /// <exception cref="MissingMethodException">There is none;
    /// this type is what the original's clients know.</exception>
    public ServerMethod Get(string name) => _methods.TryGetValue(name, out ServerMethod? method)
        ? method
        : throw new MissingMethodException(
            $"Method '{Info.FullName}.{name}' not found. The service has: "
            + $"{string.Join(", ", Info.Methods.Select(m => m.Name))}.");

    /// <summary>The same by the octets of a name; null for a name that is long, or not ASCII, and where there
    /// is none.</summary>
    public ServerMethod? Find(ReadOnlySpan<byte> name)
    {
        Span<char> text = stackalloc char[MaxShortName];
        return Ascii.ToUtf16(name, text, out int length) == OperationStatus.Done
            && _methods.GetAlternateLookup<ReadOnlySpan<char>>()
                .TryGetValue(text[..length], out ServerMethod? method)
                ? method
                : null;
    }

    /// <summary>The same without regard to case where the spelling is not found;
    /// null when there is none.</summary>
    public ServerMethod? Find(string name) =>
        Info.FindMethod(name) is { } method ? _methods.GetValueOrDefault(method.Name) : null;

    private Dictionary<string, ServerMethod> Completed(
        Dictionary<string, ServerMethod> methods, RpcHandler? fallback,
        IReadOnlyList<IRpcInterceptor> interceptors)
    {
        foreach (RpcMethodInfo method in Info.Methods)
        {
            methods.TryAdd(
                method.Name,
                new ServerMethod(method, method.IsClientStreaming ? NotHandled : fallback ?? NotHandled));
            methods[method.Name].Intercept(interceptors);
        }

        return methods;
    }

    private static ValueTask<Google.Protobuf.IMessage> NotHandled(
        RpcServerCallContext context, Google.Protobuf.IMessage request) =>
        throw new RpcException(
            RpcStatusCode.Unimplemented, $"{context.Method.FullName} has no handler on this server.");
}
