using System.Collections;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Converts the side channel to a dictionary for the shell. Its keys are the names of extensions,
/// <c>[package.name]</c>.</summary>
internal static class CallContextMap
{
    /// <summary>A copy as a dictionary. Changing it does not change the context.</summary>
    public static IDictionary ToDictionary(DynamicMessage context) =>
        (IDictionary)ShellMapper.Create(asHashtable: true).ToObject(context);

    /// <summary>Converts a dictionary to a context message.</summary>
    /// <exception cref="RpcException">InvalidArgument: a key is not an extension, or a value does not fit its
    /// type.</exception>
    public static DynamicMessage ToMessage(RpcMessageInfo type, IDictionary values) =>
        ShellMapper.Create(asHashtable: true).ToMessage(type, values);
}
