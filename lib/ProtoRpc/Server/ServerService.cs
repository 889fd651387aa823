namespace ProtoRpc.Server;

/// <summary>A service of a server: its methods by name.</summary>
internal sealed class ServerService(RpcServiceInfo info, Guid interfaceId)
{
    private readonly Dictionary<string, ServerMethod> _methods = new(StringComparer.Ordinal);
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

    /// <summary>Whether a method has a handler of its own.</summary>
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
        foreach (RpcMethodInfo method in Info.Methods)
        {
            _methods.TryAdd(
                method.Name,
                new ServerMethod(method, method.IsClientStreaming ? NotHandled : _fallback ?? NotHandled));
            _methods[method.Name].Intercept(interceptors);
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

    /// <summary>The same without regard to case where the spelling is not found;
    /// null when there is none.</summary>
    public ServerMethod? Find(string name) =>
        Info.FindMethod(name) is { } method ? _methods.GetValueOrDefault(method.Name) : null;

    private static ValueTask<Google.Protobuf.IMessage> NotHandled(
        RpcServerCallContext context, Google.Protobuf.IMessage request) =>
        throw new RpcException(
            RpcStatusCode.Unimplemented, $"{context.Method.FullName} has no handler on this server.");
}
