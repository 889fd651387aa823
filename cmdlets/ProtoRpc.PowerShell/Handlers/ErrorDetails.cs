using System.Collections;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Converts what a script adds to a failure: details of the status, as hashtables or objects with
/// their type in <c>@type</c>, and extensions of the native protocol's exception.</summary>
internal static class ErrorDetails
{
    private const string TypeKey = "@type";

    /// <summary>Converts an exception's details to messages. A detail that cannot be converted stays as it
    /// is, and is not sent.</summary>
    public static void ToMessages(RpcException error, RpcSchema? schema)
    {
        if (error.Details.Any(detail => Unwrap(detail) is not IMessage))
        {
            error.Details = error.Details.Select(detail => ToMessage(detail, schema)).ToArray();
        }
    }

    /// <summary>Converts an exception's extensions, a hashtable by name, to a message.</summary>
    /// <exception cref="RpcException">InvalidArgument: an extension does not exist, or its value does not fit
    /// its type.</exception>
    public static void ToExtensions(RpcException error, RpcSchema? schema)
    {
        object given = Unwrap(error.Extensions!);
        error.Extensions = given as IMessage
            ?? HeaderExtensionMap.ToMessage(schema, RpcExceptionInfo.Descriptor, given);
    }

    private static object Unwrap(object detail) =>
        detail is PSObject { BaseObject: not PSCustomObject } wrapped ? wrapped.BaseObject : detail;

    private static object ToMessage(object detail, RpcSchema? schema)
    {
        object given = Unwrap(detail);
        Dictionary<string, object?> fields = new(StringComparer.Ordinal);
        if (given is IDictionary dictionary)
        {
            foreach (DictionaryEntry entry in dictionary)
            {
                fields[LanguagePrimitives.ConvertTo<string>(entry.Key)] = entry.Value;
            }
        }
        else if (given is PSObject custom)
        {
            foreach (PSPropertyInfo property in custom.Properties)
            {
                fields[property.Name] = property.Value;
            }
        }

        if (!fields.Remove(TypeKey, out object? type) || type is null)
        {
            return given;
        }

        string name = LanguagePrimitives.ConvertTo<string>(type);
        name = name[(name.LastIndexOf('/') + 1)..];
        RpcMessageInfo? known = GrpcStatusDetails.Schema.FindMessage(name) ?? schema?.FindMessage(name);
        return known is null ? given : ShellMapper.Create(asHashtable: false).ToMessage(known, fields);
    }
}
