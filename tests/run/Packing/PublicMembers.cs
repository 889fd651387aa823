using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The documentation ids of what other assemblies can use: public and protected types and members.
/// </summary>
internal static class PublicMembers
{
    /// <summary>Reads an assembly, without loading it.</summary>
    public static IReadOnlySet<string> Of(string assembly)
    {
        using PEReader file = new(File.OpenRead(assembly));
        MetadataReader reader = file.GetMetadataReader();
        HashSet<string> ids = new(StringComparer.Ordinal);
        foreach (TypeDefinition type in reader.TypeDefinitions.Select(reader.GetTypeDefinition))
        {
            if (IsVisible(reader, type))
            {
                ids.UnionWith(IdsOf(reader, type));
            }
        }

        return ids;
    }

    private static IEnumerable<string> IdsOf(MetadataReader reader, TypeDefinition type)
    {
        DocumentationNames names = new();
        string name = DocumentationNames.Of(reader, type);
        yield return $"T:{name}";
        foreach (FieldDefinition field in type.GetFields().Select(reader.GetFieldDefinition))
        {
            if (IsVisible((MethodAttributes)(field.Attributes & FieldAttributes.FieldAccessMask)))
            {
                yield return $"F:{name}.{reader.GetString(field.Name)}";
            }
        }

        foreach (MethodDefinition method in type.GetMethods().Select(reader.GetMethodDefinition))
        {
            if (IsVisible(method.Attributes))
            {
                yield return $"M:{name}.{MethodId(reader, method, names)}";
            }
        }

        foreach (PropertyDefinition property in type.GetProperties().Select(reader.GetPropertyDefinition))
        {
            PropertyAccessors accessors = property.GetAccessors();
            if (IsVisible(reader, accessors.Getter) || IsVisible(reader, accessors.Setter))
            {
                MethodSignature<string> signature = property.DecodeSignature(names, null);
                yield return $"P:{name}.{reader.GetString(property.Name)}{Parameters(signature)}";
            }
        }

        foreach (EventDefinition @event in type.GetEvents().Select(reader.GetEventDefinition))
        {
            if (IsVisible(reader, @event.GetAccessors().Adder))
            {
                yield return $"E:{name}.{reader.GetString(@event.Name)}";
            }
        }
    }

    private static string MethodId(MetadataReader reader, MethodDefinition method, DocumentationNames names)
    {
        MethodSignature<string> signature = method.DecodeSignature(names, null);
        string name = reader.GetString(method.Name).Replace('.', '#');
        string arity = signature.GenericParameterCount == 0 ? "" : $"``{signature.GenericParameterCount}";
        // Conversions may differ only in their return type.
        string result = name is "op_Implicit" or "op_Explicit" ? $"~{signature.ReturnType}" : "";
        return name + arity + Parameters(signature) + result;
    }

    private static string Parameters(MethodSignature<string> signature) =>
        signature.ParameterTypes.Length == 0 ? "" : $"({string.Join(',', signature.ParameterTypes)})";

    private static bool IsVisible(MetadataReader reader, TypeDefinition type)
    {
        switch (type.Attributes & TypeAttributes.VisibilityMask)
        {
            case TypeAttributes.Public:
                return true;
            case TypeAttributes.NestedPublic
                or TypeAttributes.NestedFamily
                or TypeAttributes.NestedFamORAssem:
                return IsVisible(reader, reader.GetTypeDefinition(type.GetDeclaringType()));
            default:
                return false;
        }
    }

    private static bool IsVisible(MetadataReader reader, MethodDefinitionHandle method) =>
        !method.IsNil && IsVisible(reader.GetMethodDefinition(method).Attributes);

    private static bool IsVisible(MethodAttributes attributes) =>
        (attributes & MethodAttributes.MemberAccessMask)
            is MethodAttributes.Public or MethodAttributes.Family or MethodAttributes.FamORAssem;
}
