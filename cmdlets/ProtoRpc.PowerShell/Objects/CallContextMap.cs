using System.Collections;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>The side channel as the shell sees it: a dictionary whose keys are the names of extensions,
/// <c>[package.name]</c>.</summary>
internal static class CallContextMap
{
    /// <summary>A dictionary that a script may change, which changes nothing but it.</summary>
    public static IDictionary ToDictionary(DynamicMessage context) =>
        (IDictionary)ShellMapper.Create(asHashtable: true).ToObject(context);

    /// <summary>The message for a dictionary.</summary>
    /// <exception cref="RpcException">InvalidArgument for a key that is no extension,
    /// or a value that does not fit.</exception>
    public static DynamicMessage ToMessage(RpcMessageInfo type, IDictionary values) =>
        ShellMapper.Create(asHashtable: true).ToMessage(type, values);
}
