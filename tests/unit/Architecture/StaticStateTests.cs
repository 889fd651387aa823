using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

namespace ProtoRpc.Tests.Architecture;

/// <summary>State is an object's, not a process's, so that two servers, runspaces or tests do not
/// meet.</summary>
public static class StaticStateTests
{
    private static readonly Dictionary<string, string> Exceptions = new()
    {
        ["ProtoRpc.Transports.ReceiveSpin._spinning"] = "threads of a process share the processors",
        ["ProtoRpc.ModuleLoadContext.s_instance"] = "a process has the types of the module once",
        ["ProtoRpc.PowerShell.Connections.Termination.registration"] = "a signal goes to the process",
    };

    [Theory]
    [InlineData("ProtoRpc.Shared")]
    [InlineData("ProtoRpc")]
    [InlineData("ProtoRpc.AspNetCore")]
    [InlineData("ProtoRpc.Grpc")]
    [InlineData("ProtoRpc.Tool")]
    [InlineData("ProtoRpc.Loader")]
    [InlineData("ProtoRpc.PowerShell")]
    public static void No_static_field_can_be_assigned(string assembly)
    {
        using PEReader file = new(File.OpenRead(House.PathOf(assembly)));
        MetadataReader types = file.GetMetadataReader();

        IEnumerable<string> mutable =
            from field in types.FieldDefinitions.Select(types.GetFieldDefinition)
            let type = types.GetTypeDefinition(field.GetDeclaringType())
            let name = $"{types.GetString(type.Namespace)}.{types.GetString(type.Name)}"
                + $".{types.GetString(field.Name)}"
            where field.Attributes.HasFlag(FieldAttributes.Static)
                && (field.Attributes & (FieldAttributes.InitOnly | FieldAttributes.Literal)) == 0

            // What the compiler and protoc keep, which nobody else assigns.
            where !name.Contains('<') && !name.EndsWith("Reflection.descriptor", StringComparison.Ordinal)
            where !Exceptions.ContainsKey(name)
            select name;

        Findings.None(mutable);
    }
}
