namespace ProtoRpc;

/// <summary>The types of server exceptions that a client recreates as <see cref="Exception.InnerException"/>
/// of the RpcException. A type must derive from Exception, and have a constructor with a message. No other
/// type that a server names is used.</summary>
public enum RpcExceptionTypes
{
    /// <summary>No types: server exceptions are only data.</summary>
    None = 0,

    /// <summary>Types of the runtime's core library.</summary>
    CoreLibrary = 1,

    /// <summary>Types of assemblies that this process has already loaded.</summary>
    LoadedAssemblies = 2,

    /// <summary>Like <see cref="LoadedAssemblies"/>, and loads an assembly with a strong name if the server
    /// names it. No code of it runs before the type is known to be an exception. Use it only with trusted
    /// servers.</summary>
    LoadStrongNamed = 3,

    /// <summary>Like <see cref="LoadStrongNamed"/>, and loads any assembly that the server names. Use it only
    /// with trusted servers.</summary>
    LoadAny = 4,
}
