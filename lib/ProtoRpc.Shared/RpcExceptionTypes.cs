namespace ProtoRpc;

/// <summary>Which exception types of a server a client makes anew, as <see cref="Exception.InnerException"/>
/// of the RpcException. Only types that derive from Exception, by their plain name, through a constructor
/// that takes the message: nothing else that the wire names is ever looked at.</summary>
public enum RpcExceptionTypes
{
    /// <summary>None: exceptions of the server are only data.</summary>
    None = 0,

    /// <summary>Those of the runtime's core library.</summary>
    CoreLibrary = 1,

    /// <summary>Those of assemblies that this process has loaded already.</summary>
    LoadedAssemblies = 2,

    /// <summary>As before, and an assembly with a strong name is loaded when the server names it.
    /// Loading runs no code of it before the type is known to be an exception; still,
    /// use it with servers that are trusted.</summary>
    LoadStrongNamed = 3,

    /// <summary>As before, and any assembly that the server names is loaded.
    /// Only for servers that are trusted.</summary>
    LoadAny = 4,
}
