using System.Collections.Immutable;
using System.Reflection.Metadata;
using System.Text;

namespace ProtoRpc.TestRun.Packing;

/// <summary>Types as the ids of XML documentation write them (C# standard, D.4.2).</summary>
internal sealed class DocumentationNames : ISignatureTypeProvider<string, object?>
{
    /// <summary>The name of a type that an assembly has, with the number of its type parameters.</summary>
    public static string Of(MetadataReader reader, TypeDefinition type)
    {
        TypeDefinitionHandle outer = type.GetDeclaringType();
        string name = reader.GetString(type.Name);
        return outer.IsNil
            ? Join(reader.GetString(type.Namespace), name)
            : $"{Of(reader, reader.GetTypeDefinition(outer))}.{name}";
    }

    public string GetTypeFromDefinition(
        MetadataReader reader, TypeDefinitionHandle handle, byte rawTypeKind) =>
        Of(reader, reader.GetTypeDefinition(handle));

    public string GetTypeFromReference(MetadataReader reader, TypeReferenceHandle handle, byte rawTypeKind)
    {
        TypeReference type = reader.GetTypeReference(handle);
        string name = reader.GetString(type.Name);
        return type.ResolutionScope.Kind == HandleKind.TypeReference
            ? $"{GetTypeFromReference(reader, (TypeReferenceHandle)type.ResolutionScope, 0)}.{name}"
            : Join(reader.GetString(type.Namespace), name);
    }

    public string GetTypeFromSpecification(
        MetadataReader reader, object? genericContext, TypeSpecificationHandle handle, byte rawTypeKind) =>
        reader.GetTypeSpecification(handle).DecodeSignature(this, genericContext);

    // For example, A`1.B`2 with three arguments becomes A{X}.B{Y,Z}.
    public string GetGenericInstantiation(string genericType, ImmutableArray<string> typeArguments)
    {
        StringBuilder text = new();
        int used = 0;
        for (int i = 0; i < genericType.Length; i++)
        {
            if (genericType[i] != '`')
            {
                text.Append(genericType[i]);
                continue;
            }

            int end = i + 1;
            while (end < genericType.Length && char.IsAsciiDigit(genericType[end]))
            {
                end++;
            }

            int count = int.Parse(genericType.AsSpan(i + 1, end - i - 1));
            text.Append('{').AppendJoin(',', typeArguments.Skip(used).Take(count)).Append('}');
            used += count;
            i = end - 1;
        }

        return text.ToString();
    }

    public string GetPrimitiveType(PrimitiveTypeCode typeCode) => $"System.{typeCode}";

    public string GetSZArrayType(string elementType) => $"{elementType}[]";

    public string GetArrayType(string elementType, ArrayShape shape) =>
        $"{elementType}[{string.Join(',', Enumerable.Repeat("0:", shape.Rank))}]";

    public string GetByReferenceType(string elementType) => $"{elementType}@";

    public string GetPointerType(string elementType) => $"{elementType}*";

    public string GetGenericTypeParameter(object? genericContext, int index) => $"`{index}";

    public string GetGenericMethodParameter(object? genericContext, int index) => $"``{index}";

    public string GetModifiedType(string modifier, string unmodifiedType, bool isRequired) => unmodifiedType;

    public string GetPinnedType(string elementType) => elementType;

    public string GetFunctionPointerType(MethodSignature<string> signature) =>
        $"=FUNC:{signature.ReturnType}({string.Join(',', signature.ParameterTypes)})";

    private static string Join(string @namespace, string name) =>
        @namespace.Length == 0 ? name : $"{@namespace}.{name}";
}
